// Is not C++.
// expected: compile_error
this is not C++
