// WholeGraph asks its user for memory by a table of functions. These give it PyTorch's, without the interpreter, under
// the names by which `pylibwholegraph.torch.wholegraph_env` calls an extension. Its own extension does not compile:
// 26.10 calls a function that no header declares, and gives away a const pointer of PyTorch's.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/utils/pybind.h>
#include <wholememory/env_func_ptrs.h>

namespace {

struct Memory {
    at::Tensor tensor;
};

Memory* memory(void* context) { return static_cast<Memory*>(context); }

at::ScalarType type_of(wholememory_dtype_t type) {
    switch (type) {
        case WHOLEMEMORY_DT_FLOAT: return at::kFloat;
        case WHOLEMEMORY_DT_HALF: return at::kHalf;
        case WHOLEMEMORY_DT_DOUBLE: return at::kDouble;
        case WHOLEMEMORY_DT_BF16: return at::kBFloat16;
        case WHOLEMEMORY_DT_INT: return at::kInt;
        case WHOLEMEMORY_DT_INT64: return at::kLong;
        case WHOLEMEMORY_DT_INT16: return at::kShort;
        case WHOLEMEMORY_DT_INT8: return at::kChar;
        default: TORCH_CHECK(false, "WholeGraph asks for memory of an unknown type");
    }
}

void create(void** context, void*) { *context = new Memory; }

void destroy(void* context, void*) { delete memory(context); }

void* allocate(wholememory_tensor_description_t* wanted, wholememory_memory_allocation_type_t place, void* context,
               void*) {
    auto options = at::TensorOptions().dtype(type_of(wanted->dtype));
    if (place == WHOLEMEMORY_MA_DEVICE) {
        options = options.device(at::kCUDA);  // the current one
    } else {
        options = options.pinned_memory(place == WHOLEMEMORY_MA_PINNED);
    }
    at::Tensor& tensor = memory(context)->tensor;
    tensor = at::empty(at::IntArrayRef(wanted->sizes, wanted->dim), options);
    return tensor.data_ptr();
}

void release(void* context, void*) { memory(context)->tensor = at::Tensor(); }

wholememory_env_func_t functions = {{create, destroy, allocate, release, nullptr}, {allocate, release, nullptr}};

}  // namespace

PYBIND11_MODULE(hone_wholegraph_hook, module) {
    module.def("get_wholegraph_env_fns", [] { return reinterpret_cast<int64_t>(&functions); });
    module.def("create_output_context", [] { return reinterpret_cast<int64_t>(new Memory); });
    module.def("destroy_output_context", [](int64_t context) { destroy(reinterpret_cast<void*>(context), nullptr); });
    module.def("free_context_data", [](int64_t context) { release(reinterpret_cast<void*>(context), nullptr); });
    module.def("get_tensor_from_context",
               [](int64_t context) { return memory(reinterpret_cast<void*>(context))->tensor; });
}
