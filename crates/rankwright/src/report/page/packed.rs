//! Lists of numbers in binary inside JSON.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Serialize;

/// Numbers in binary: little-endian, deflated (zlib), base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Packed {
    /// The type of a number.
    #[serde(rename = "type")]
    pub number: NumberType,
    /// How many there are.
    pub length: usize,
    /// The text.
    pub data: String,
}

/// The type of packed numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberType {
    /// One byte.
    U8,
    /// Two bytes.
    U16,
    /// Four bytes.
    U32,
    /// IEEE 754, eight bytes.
    F64,
}

impl Packed {
    /// Whole numbers, in the smallest type that holds the largest.
    #[must_use]
    pub fn whole(numbers: &[u32]) -> Self {
        let largest = numbers.iter().copied().max().unwrap_or(0);
        match largest {
            0..=0xff => Self::bytes(&numbers.iter().map(|n| *n as u8).collect::<Vec<_>>()),
            0x100..=0xffff => {
                let numbers = numbers.iter().map(|n| (*n as u16).to_le_bytes());
                Self::new(NumberType::U16, numbers)
            }
            _ => Self::new(NumberType::U32, numbers.iter().map(|number| number.to_le_bytes())),
        }
    }

    /// Bytes.
    #[must_use]
    pub fn bytes(numbers: &[u8]) -> Self {
        Self::new(NumberType::U8, numbers.iter().map(|number| [*number]))
    }

    /// Any numbers.
    #[must_use]
    pub fn real(numbers: &[f64]) -> Self {
        Self::new(NumberType::F64, numbers.iter().map(|number| number.to_le_bytes()))
    }

    /// The numbers.
    ///
    /// # Panics
    /// Never: the text was made from them.
    #[must_use]
    pub fn numbers(&self) -> Vec<f64> {
        let deflated = of_base64(&self.data);
        let mut bytes = Vec::new();
        let whole = ZlibDecoder::new(&deflated[..]).read_to_end(&mut bytes);
        whole.expect("what was deflated is whole");
        let number = |bytes: &[u8]| {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            match self.number {
                NumberType::F64 => f64::from_le_bytes(eight),
                _ => u64::from_le_bytes(eight) as f64,
            }
        };
        let size = match self.number {
            NumberType::U8 => 1,
            NumberType::U16 => 2,
            NumberType::U32 => 4,
            NumberType::F64 => 8,
        };
        bytes.chunks(size).map(number).collect()
    }

    fn new<const SIZE: usize>(
        number: NumberType,
        numbers: impl ExactSizeIterator<Item = [u8; SIZE]>,
    ) -> Self {
        let length = numbers.len();
        let bytes: Vec<u8> = numbers.flatten().collect();
        let mut deflated = ZlibEncoder::new(Vec::new(), Compression::default());
        let whole = deflated.write_all(&bytes).and_then(|()| deflated.finish());
        Self { number, length, data: base64(&whole.expect("memory takes all that is written")) }
    }
}

/// The bytes that [`base64`] wrote.
fn of_base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = four.iter().fold(0_u32, |bits, c| bits << 6 | u32::from(digit(*c)));
        let bits = bits << (6 * (4 - four.len()));
        bytes.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}

/// Base64 of RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |position: usize| u32::from(three.get(position).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            match digit <= three.len() {
                true => text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize])),
                false => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        assert_eq!(texts.map(|text| base64(text.as_bytes())), expected);
    }

    #[test]
    fn numbers_take_the_smallest_type_and_come_back() {
        for (numbers, kind) in [
            (vec![], NumberType::U8),
            (vec![1, 255], NumberType::U8),
            (vec![256, 65_535], NumberType::U16),
            (vec![0, 65_536], NumberType::U32),
        ] {
            let packed = Packed::whole(&numbers);
            assert_eq!(packed.number, kind);
            let expected: Vec<f64> = numbers.into_iter().map(f64::from).collect();
            assert_eq!(packed.numbers(), expected);
        }
        assert_eq!(Packed::real(&[0.1, 1e300]).numbers(), [0.1, 1e300]);
    }
}
