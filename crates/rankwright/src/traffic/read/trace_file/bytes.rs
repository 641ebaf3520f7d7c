//! A reader of little-endian numbers.

pub(super) const CUT_SHORT: &str = "a file that was cut short";

/// The unread rest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        if length > self.rest.len() {
            return Err(CUT_SHORT.to_owned());
        }
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        Ok(self.take(N)?.try_into().expect("take returns what was asked for"))
    }

    pub(super) fn u8(&mut self) -> Result<u8, String> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, String> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, String> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, String> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn f64(&mut self) -> Result<f64, String> {
        let number = f64::from_le_bytes(self.array()?);
        if number.is_finite() { Ok(number) } else { Err(format!("a number that is {number}")) }
    }

    pub(super) fn u32s(&mut self, count: u32) -> Result<Vec<u32>, String> {
        let bytes = self.take((count as usize).saturating_mul(4))?;
        let number = |four: &[u8]| u32::from_le_bytes(four.try_into().expect("four bytes"));
        Ok(bytes.chunks_exact(4).map(number).collect())
    }

    pub(super) fn text(&mut self, length: usize) -> Result<String, String> {
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }
}
