//! Tables of columns, which become NumPy arrays or Arrow data.

use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::failure::Failure;

/// A column. `Numbers` have NaN where a number is not known, `Integers` -1.
#[derive(Debug)]
pub(crate) enum Column {
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Texts(Vec<String>),
    Flags(Vec<bool>),
}

/// Columns of equal length with names.
#[pyclass(frozen, module = "rankwright._native")]
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Column)>,
}

/// A count as a signed number: NumPy's functions lose precision with unsigned ones.
pub(crate) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::Texts(values) => values.len(),
            Self::Flags(values) => values.len(),
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Integers(_) => DataType::Int64,
            Self::Numbers(_) => DataType::Float64,
            Self::Texts(_) => DataType::Utf8,
            Self::Flags(_) => DataType::Boolean,
        }
    }

    fn array(&self) -> ArrayRef {
        match self {
            Self::Integers(values) => Arc::new(Int64Array::from(values.clone())),
            Self::Numbers(values) => Arc::new(Float64Array::from(values.clone())),
            Self::Texts(values) => Arc::new(StringArray::from_iter_values(values)),
            Self::Flags(values) => Arc::new(BooleanArray::from(values.clone())),
        }
    }

    fn for_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Self::Integers(values) => PyArray1::from_slice(py, values).into_any(),
            Self::Numbers(values) => PyArray1::from_slice(py, values).into_any(),
            Self::Flags(values) => PyArray1::from_slice(py, values).into_any(),
            Self::Texts(values) => PyList::new(py, values)?.into_any(),
        })
    }
}

impl Table {
    pub(crate) fn new(columns: Vec<(&'static str, Column)>) -> Self {
        debug_assert!(columns.windows(2).all(|pair| pair[0].1.len() == pair[1].1.len()));
        Self { columns }
    }

    fn schema(&self) -> Schema {
        let field =
            |(name, column): &(&'static str, Column)| Field::new(*name, column.data_type(), false);
        Schema::new(self.columns.iter().map(field).collect::<Vec<_>>())
    }
}

fn failed(error: &ArrowError) -> Failure {
    Failure::Other(format!("the table cannot be passed on as Arrow data: {error}"))
}

#[pymethods]
impl Table {
    /// The names of the columns, in order.
    #[getter]
    fn names(&self) -> Vec<&'static str> {
        self.columns.iter().map(|(name, _)| *name).collect()
    }

    fn __len__(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// By name: a NumPy array, or of texts a list.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, column) in &self.columns {
            all.set_item(name, column.for_numpy(py)?)?;
        }
        Ok(all)
    }

    /// The Arrow PyCapsule interface: the table as a stream of one batch.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer that cannot convert ignore the wish.
        drop(requested_schema);
        let schema = Arc::new(self.schema());
        let arrays = self.columns.iter().map(|(_, column)| column.array()).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays);
        let batch = batch.map_err(|error| failed(&error))?;
        let batches = RecordBatchIterator::new([Ok(batch)], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The Arrow PyCapsule interface: the names and types of the columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&self.schema()).map_err(|error| failed(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}
