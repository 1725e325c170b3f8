// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
//
// Calls of machine code from Python: the fast path of kernels, of methods and of programs.
//
// The machine code of a kernel is a C function of a number of states, the addresses of its arrays
// (inputs, then outputs) and their strides in bytes; it returns the number of states that it has
// computed, and leaves out a state whose numbers it refuses. What the types here do not take (another
// type, layout or shape, a refused state) goes unchanged to a Python function, which converts,
// broadcasts, or raises an error with a clear message.
//
// Only the documented C API of Python and NumPy is used. The machine code is kept alive by an object
// without references of its own, and the collector cannot take it away: a call in a reference cycle
// stays callable in whatever order its cycle is cleared.

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <numpy/arrayobject.h>
#include <stdbool.h>
#include <stdint.h>

// Changes with what the module offers to kernels/kernel.py, which refuses another one.
#define VERSION 2

// Kernels of more arrays, or of more axes, are called through the slow path alone.
#define MAX_ARRAYS 64
#define MAX_RANK 8

typedef int64_t (*Code)(int64_t states, void **addresses, const int64_t *strides);

// One state of each array: all strides are 0.
static const int64_t NO_STRIDES[MAX_ARRAYS];

static PyObject *out_keyword;
static PyArray_Descr *float64;

// --- Call -----------------------------------------------------------------------------------------

typedef struct {
  int rank;
  npy_intp size;
  npy_intp shape[MAX_RANK];
} Variable;

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  Code code;
  PyObject *keep;      // keeps the machine code in memory; without references of its own
  PyObject *bound;     // array that is the last input, or NULL
  PyObject *slow_path; // called with arguments that are not taken; NULL once the collector took it
  PyObject *name;
  PyObject *doc;
  Py_ssize_t inputs;   // arguments, without the bound input
  Py_ssize_t outputs;
  Variable *variables; // of the arguments, then of the outputs
} Call;

static PyTypeObject CallType;

static bool has_layout(PyArrayObject *array, const Variable *variable, int flags) {
  if (PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISNOTSWAPPED(array) ||
      !PyArray_CHKFLAGS(array, flags) || PyArray_NDIM(array) != variable->rank)
    return false;
  const npy_intp *shape = PyArray_DIMS(array);
  for (int axis = 0; axis < variable->rank; axis++)
    if (shape[axis] != variable->shape[axis]) return false;
  return true;
}

static bool overlap(const void *a, npy_intp size_a, const void *b, npy_intp size_b) {
  const char *first = a, *second = b;
  return first < second + size_b * sizeof(double) && second < first + size_a * sizeof(double);
}

// Calls the machine code with exactly fitting arguments. Returns NULL without an exception if it
// does not take them. `out` is NULL, or the array to fill.
static PyObject *try_call(Call *self, PyObject *const *arguments, Py_ssize_t count, PyObject *out) {
  void *addresses[MAX_ARRAYS];
  double numbers[MAX_ARRAYS];
  PyObject *results[MAX_ARRAYS];
  if (count != self->inputs) return NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *value = arguments[i];
    const Variable *variable = &self->variables[i];
    if (variable->rank) {
      if (!PyArray_CheckExact(value)) return NULL;
      PyArrayObject *array = (PyArrayObject *)value;
      if (!has_layout(array, variable, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)) return NULL;
      addresses[i] = PyArray_DATA(array);
    } else {
      // float64 of NumPy is a subclass of float.
      if (!PyFloat_CheckExact(value) && Py_TYPE(value) != &PyDoubleArrType_Type) return NULL;
      numbers[i] = PyFloat_AS_DOUBLE(value);
      addresses[i] = &numbers[i];
    }
  }
  Py_ssize_t inputs = count;
  if (self->bound) addresses[inputs++] = PyArray_DATA((PyArrayObject *)self->bound);

  const Variable *variables = &self->variables[count];
  if (out) {
    if (self->outputs != 1 || !variables->rank || !PyArray_CheckExact(out)) return NULL;
    PyArrayObject *array = (PyArrayObject *)out;
    if (!has_layout(array, variables, NPY_ARRAY_CARRAY)) return NULL;
    void *data = PyArray_DATA(array);
    for (Py_ssize_t i = 0; i < count; i++)
      if (overlap(data, variables->size, addresses[i], self->variables[i].size)) return NULL;
    addresses[inputs] = data;
    if (self->code(1, addresses, NO_STRIDES) != 1) return NULL;
    return Py_NewRef(out);
  }

  Py_ssize_t made = 0;
  for (; made < self->outputs; made++) {
    const Variable *variable = &variables[made];
    results[made] = NULL;
    if (variable->rank) {
      results[made] = PyArray_SimpleNew(variable->rank, (npy_intp *)variable->shape, NPY_DOUBLE);
      if (!results[made]) goto release;
      addresses[inputs + made] = PyArray_DATA((PyArrayObject *)results[made]);
    } else {
      addresses[inputs + made] = &numbers[count + made];
    }
  }
  if (self->code(1, addresses, NO_STRIDES) != 1) goto release;
  for (Py_ssize_t i = 0; i < made; i++) {
    if (results[i]) continue;
    results[i] = PyArray_Scalar(addresses[inputs + i], float64, NULL);
    if (!results[i]) goto release;
  }
  if (made == 1) return results[0];
  PyObject *all = PyTuple_New(made);
  if (!all) goto release;
  for (Py_ssize_t i = 0; i < made; i++) PyTuple_SET_ITEM(all, i, results[i]);
  return all;

release:
  while (made > 0) Py_XDECREF(results[--made]);
  return NULL;
}

// Whether keyword arguments are none, or `out` alone, which is then set.
static bool only_out(PyObject *const *arguments, Py_ssize_t count, PyObject *names, PyObject **out) {
  *out = NULL;
  if (!names || PyTuple_GET_SIZE(names) == 0) return true;
  if (PyTuple_GET_SIZE(names) != 1 || PyTuple_GET_ITEM(names, 0) != out_keyword) return false;
  *out = arguments[count];
  return true;
}

static PyObject *Call_vectorcall(PyObject *object, PyObject *const *arguments, size_t flags,
                                 PyObject *names) {
  Call *self = (Call *)object;
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  PyObject *out;
  if (only_out(arguments, count, names, &out)) {
    PyObject *result = try_call(self, arguments, count, out);
    if (result || PyErr_Occurred()) return result;
  }
  if (!self->slow_path) {
    PyErr_Format(PyExc_RuntimeError, "%U is being freed", self->name);
    return NULL;
  }
  PyObject *slow_path = Py_NewRef(self->slow_path);
  PyObject *result = PyObject_Vectorcall(slow_path, arguments, flags, names);
  Py_DECREF(slow_path);
  return result;
}

// Reads the shapes of arguments or outputs.
static bool read_shapes(PyObject *shapes, Variable *variables) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shapes); i++) {
    PyObject *shape = PyTuple_GET_ITEM(shapes, i);
    if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) > MAX_RANK) {
      PyErr_SetString(PyExc_ValueError, "a shape is a tuple of a few whole numbers");
      return false;
    }
    Variable *variable = &variables[i];
    variable->rank = (int)PyTuple_GET_SIZE(shape);
    variable->size = 1;
    for (int axis = 0; axis < variable->rank; axis++) {
      Py_ssize_t size = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
      if (size < 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a size is negative");
        return false;
      }
      variable->shape[axis] = size;
      variable->size *= size;
    }
  }
  return true;
}

static PyObject *Call_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
  static char *names[] = {"address", "inputs", "outputs", "bound", "slow_path",
                          "name",    "doc",    "keep",    NULL};
  unsigned long long address;
  PyObject *inputs, *outputs, *bound, *slow_path, *name, *doc, *keep;
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "KO!O!OOUUO:Call", names, &address,
                                   &PyTuple_Type, &inputs, &PyTuple_Type, &outputs, &bound,
                                   &slow_path, &name, &doc, &keep))
    return NULL;
  Py_ssize_t count = PyTuple_GET_SIZE(inputs) + PyTuple_GET_SIZE(outputs);
  if (!address || count >= MAX_ARRAYS || !PyCallable_Check(slow_path) ||
      PyObject_IS_GC(keep) || (bound != Py_None && !PyArray_CheckExact(bound))) {
    PyErr_SetString(PyExc_ValueError, "no machine code, too many arrays, or another type");
    return NULL;
  }
  Call *self = (Call *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->vectorcall = Call_vectorcall;
  self->code = (Code)(uintptr_t)address;
  self->bound = bound == Py_None ? NULL : Py_NewRef(bound);
  self->slow_path = Py_NewRef(slow_path);
  self->name = Py_NewRef(name);
  self->doc = Py_NewRef(doc);
  self->keep = Py_NewRef(keep);
  self->inputs = PyTuple_GET_SIZE(inputs);
  self->outputs = PyTuple_GET_SIZE(outputs);
  self->variables = PyMem_Calloc(count + 1, sizeof(Variable));
  if (!self->variables) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  if (!read_shapes(inputs, self->variables) ||
      !read_shapes(outputs, self->variables + self->inputs)) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

static int Call_traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(((Call *)object)->slow_path);
  return 0;
}

static int Call_clear(PyObject *object) {
  Py_CLEAR(((Call *)object)->slow_path);
  return 0;
}

static void Call_dealloc(PyObject *object) {
  Call *self = (Call *)object;
  PyObject_GC_UnTrack(object);
  Py_XDECREF(self->slow_path);
  Py_XDECREF(self->bound);
  Py_XDECREF(self->name);
  Py_XDECREF(self->doc);
  Py_XDECREF(self->keep);
  PyMem_Free(self->variables);
  Py_TYPE(object)->tp_free(object);
}

static PyMemberDef Call_members[] = {
    {"__name__", T_OBJECT_EX, offsetof(Call, name), READONLY, NULL},
    {"__qualname__", T_OBJECT_EX, offsetof(Call, name), READONLY, NULL},
    {"__doc__", T_OBJECT_EX, offsetof(Call, doc), READONLY, NULL},
    {NULL},
};

static PyTypeObject CallType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamics_ros.kernels._native.Call",
    .tp_basicsize = sizeof(Call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Call, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = Call_new,
    .tp_traverse = Call_traverse,
    .tp_clear = Call_clear,
    .tp_dealloc = Call_dealloc,
    .tp_members = Call_members,
};

// --- Method ---------------------------------------------------------------------------------------
//
// A function of a class that looks for a Call first, in the dictionary of its object: `_direct_calls`
// has a Call by the name of the method; for methods of a frame it has a dictionary by name of the
// frame, and in that one by further names (None: not given). All else goes to the function.

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject *function;
  PyObject *name;
  Py_ssize_t arrays; // arguments before the names
} Method;

static PyObject *table_name;

static PyObject *Method_vectorcall(PyObject *object, PyObject *const *arguments, size_t flags,
                                   PyObject *names) {
  Method *self = (Method *)object;
  Py_ssize_t count = PyVectorcall_NARGS(flags), next = 1 + self->arrays;
  PyObject *out;
  if (count >= next && only_out(arguments, count, names, &out)) {
    PyObject *table = PyObject_GetAttr(arguments[0], table_name);
    if (!table) PyErr_Clear();
    PyObject *found = table, *key = self->name;
    while (found && PyDict_CheckExact(found)) {
      found = PyDict_GetItemWithError(found, key); // borrowed: what a table has, it keeps
      if (!found) {
        PyErr_Clear();
        break;
      }
      if (PyDict_CheckExact(found)) {
        if (next == count)
          key = Py_None;
        else if (PyUnicode_CheckExact(key = arguments[next++]))
          continue;
        else
          found = NULL; // even a None: it may be an error, which the function raises
      }
    }
    PyObject *result = NULL;
    if (found && next == count && Py_IS_TYPE(found, &CallType))
      result = try_call((Call *)found, arguments + 1, self->arrays, out);
    Py_XDECREF(table);
    if (result || PyErr_Occurred()) return result;
  }
  return PyObject_Vectorcall(self->function, arguments, flags, names);
}

static PyObject *Method_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
  static char *names[] = {"function", "arrays", NULL};
  PyObject *function;
  Py_ssize_t arrays;
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "On:Method", names, &function, &arrays))
    return NULL;
  PyObject *name = PyObject_GetAttrString(function, "__name__");
  if (!name) return NULL;
  Method *self = (Method *)type->tp_alloc(type, 0);
  if (!self) {
    Py_DECREF(name);
    return NULL;
  }
  self->vectorcall = Method_vectorcall;
  self->function = Py_NewRef(function);
  self->name = name;
  self->arrays = arrays;
  return (PyObject *)self;
}

static PyObject *Method_get(PyObject *self, PyObject *object, PyObject *type) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

// All that a function tells of itself is told here too: name, signature, module, documentation.
static PyObject *Method_getattro(PyObject *object, PyObject *name) {
  PyObject *value = PyObject_GenericGetAttr(object, name);
  if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
  PyErr_Clear();
  return PyObject_GetAttr(((Method *)object)->function, name);
}

static PyObject *Method_doc(PyObject *object, void *closure) {
  return PyObject_GetAttrString(((Method *)object)->function, "__doc__");
}

static PyObject *Method_reduce(PyObject *object, PyObject *ignored) {
  return PyObject_GetAttrString(((Method *)object)->function, "__qualname__");
}

static int Method_traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(((Method *)object)->function);
  return 0;
}

// Without tp_clear: in a cycle of a class and its functions, the class breaks it.
static void Method_dealloc(PyObject *object) {
  Method *self = (Method *)object;
  PyObject_GC_UnTrack(object);
  Py_XDECREF(self->function);
  Py_XDECREF(self->name);
  Py_TYPE(object)->tp_free(object);
}

static PyMemberDef Method_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(Method, function), READONLY, NULL},
    {NULL},
};

static PyGetSetDef Method_getset[] = {{"__doc__", Method_doc, NULL, NULL, NULL}, {NULL}};

static PyMethodDef Method_methods[] = {{"__reduce__", Method_reduce, METH_NOARGS, NULL}, {NULL}};

static PyTypeObject MethodType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamics_ros.kernels._native.Method",
    .tp_basicsize = sizeof(Method),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Method, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = Method_new,
    .tp_descr_get = Method_get,
    .tp_getattro = Method_getattro,
    .tp_traverse = Method_traverse,
    .tp_dealloc = Method_dealloc,
    .tp_members = Method_members,
    .tp_getset = Method_getset,
    .tp_methods = Method_methods,
};

// --- Program --------------------------------------------------------------------------------------

typedef struct {
  Code code; // NULL: a copy from the first array to the second
  void **addresses;
  int64_t *strides;
  size_t bytes; // of the second array
  bool flags;   // the second array is of bytes, the first of doubles
} Step;

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject *keep; // tuple of the steps: their arrays and what keeps the machine code
  Py_ssize_t count;
  Step *steps;
} Program;

static PyObject *Program_vectorcall(PyObject *object, PyObject *const *arguments, size_t flags,
                                    PyObject *names) {
  Program *self = (Program *)object;
  if (PyVectorcall_NARGS(flags) || (names && PyTuple_GET_SIZE(names))) {
    PyErr_SetString(PyExc_TypeError, "run() takes no arguments");
    return NULL;
  }
  for (Py_ssize_t i = 0; i < self->count; i++) {
    const Step *step = &self->steps[i];
    if (step->flags)
      for (size_t j = 0; j < step->bytes; j++)
        ((uint8_t *)step->addresses[1])[j] = (uint8_t)((double *)step->addresses[0])[j];
    else if (!step->code)
      memcpy(step->addresses[1], step->addresses[0], step->bytes);
    else if (step->code(1, step->addresses, step->strides) != 1)
      Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

static bool read_step(PyObject *item, Step *step) {
  unsigned long long address;
  PyObject *arrays, *keep;
  if (!PyArg_ParseTuple(item, "KO!O", &address, &PyTuple_Type, &arrays, &keep)) return false;
  Py_ssize_t count = PyTuple_GET_SIZE(arrays);
  step->code = (Code)(uintptr_t)address;
  step->addresses = PyMem_Calloc(count + 1, sizeof(void *));
  step->strides = PyMem_Calloc(count + 1, sizeof(int64_t));
  if (!step->addresses || !step->strides) {
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *array = PyTuple_GET_ITEM(arrays, i);
    if (!PyArray_Check(array)) {
      PyErr_SetString(PyExc_TypeError, "a step works on arrays");
      return false;
    }
    step->addresses[i] = PyArray_DATA((PyArrayObject *)array);
    step->bytes = (size_t)PyArray_NBYTES((PyArrayObject *)array);
    step->flags = PyArray_ITEMSIZE((PyArrayObject *)array) == 1;
  }
  return true;
}

static PyObject *Program_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
  PyObject *steps;
  if (!PyArg_ParseTuple(arguments, "O!:Program", &PyTuple_Type, &steps)) return NULL;
  Program *self = (Program *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->vectorcall = Program_vectorcall;
  self->keep = Py_NewRef(steps);
  self->steps = PyMem_Calloc(PyTuple_GET_SIZE(steps) + 1, sizeof(Step));
  if (!self->steps) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  while (self->count < PyTuple_GET_SIZE(steps)) {
    Step *step = &self->steps[self->count];
    if (!read_step(PyTuple_GET_ITEM(steps, self->count++), step)) {
      Py_DECREF(self);
      return NULL;
    }
  }
  return (PyObject *)self;
}

static int Program_traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(((Program *)object)->keep);
  return 0;
}

// Without tp_clear, so that it stays callable: the arrays of a cycle break it.
static void Program_dealloc(PyObject *object) {
  Program *self = (Program *)object;
  PyObject_GC_UnTrack(object);
  for (Py_ssize_t i = 0; i < self->count; i++) {
    PyMem_Free(self->steps[i].addresses);
    PyMem_Free(self->steps[i].strides);
  }
  PyMem_Free(self->steps);
  Py_XDECREF(self->keep);
  Py_TYPE(object)->tp_free(object);
}

static PyTypeObject ProgramType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamics_ros.kernels._native.Program",
    .tp_basicsize = sizeof(Program),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Program, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = Program_new,
    .tp_traverse = Program_traverse,
    .tp_dealloc = Program_dealloc,
};

// --- Module ---------------------------------------------------------------------------------------

static int execute(PyObject *module) {
  import_array1(-1);
  out_keyword = PyUnicode_InternFromString("out");
  table_name = PyUnicode_InternFromString("_direct_calls");
  float64 = PyArray_DescrFromType(NPY_DOUBLE);
  if (!out_keyword || !table_name || !float64 || PyModule_AddType(module, &CallType) ||
      PyModule_AddType(module, &MethodType) || PyModule_AddType(module, &ProgramType))
    return -1;
  return PyModule_AddIntMacro(module, VERSION);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "Calls of machine code from Python.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
