// Has no launcher.
// expected: load_error
extern "C" void start() {}
