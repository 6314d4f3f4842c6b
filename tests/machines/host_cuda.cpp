// A CUDA device made of host memory: kernels run on the CPU, everything around them (dispatch,
// autograd, autocast, devices, generators) is torch's own. An operand on the wrong device is an
// error, as it is on a GPU.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/Resize.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <atomic>
#include <set>

namespace {
std::atomic<int64_t> waits = 0;  // how often a GPU would have been waited for

using at::Tensor;
constexpr auto CUDA = c10::DeviceType::CUDA;
constexpr c10::DeviceIndex DEVICES = 2;
thread_local c10::DeviceIndex current = 0;

struct Memory final : c10::Allocator {
  c10::DataPtr allocate(size_t n) override {
    void* data = n ? std::aligned_alloc(64, (n + 63) / 64 * 64) : nullptr;
    return {data, data, &std::free, c10::Device(CUDA, current)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* to, const void* from, size_t n) const override { std::memcpy(to, from, n); }
} memory;

struct Guard final : c10::impl::DeviceGuardImplInterface {
  static c10::Device at(c10::DeviceIndex i) { return {CUDA, i < 0 ? current : i}; }
  c10::DeviceType type() const override { return CUDA; }
  c10::Device exchangeDevice(c10::Device d) const override {
    auto old = at(current);
    setDevice(d);
    return old;
  }
  c10::Device getDevice() const override { return at(current); }
  void setDevice(c10::Device d) const override {
    TORCH_CHECK(d.index() < DEVICES, "CUDA error: invalid device ordinal");
    if (d.index() >= 0) current = d.index();
  }
  void uncheckedSetDevice(c10::Device d) const noexcept override {
    if (d.index() >= 0) current = d.index();
  }
  c10::Stream getStream(c10::Device d) const override {
    return c10::Stream(c10::Stream::DEFAULT, at(d.index()));
  }
  c10::Stream getDefaultStream(c10::Device d) const override { return getStream(d); }
  c10::Stream getNewStream(c10::Device d, int) const override { return getStream(d); }
  c10::Stream exchangeStream(c10::Stream s) const override { return s; }
  c10::DeviceIndex deviceCount() const noexcept override { return DEVICES; }
  void record(void**, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void*, const c10::DeviceIndex) const noexcept override {}
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}
} guard;

at::Generator& generator(c10::DeviceIndex i) {
  static at::Generator all[DEVICES] = {at::detail::createCPUGenerator(1),
                                       at::detail::createCPUGenerator(1)};
  return all[i < 0 ? current : i];
}

struct CUDAHooks final : at::CUDAHooksInterface {
  CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasCUDA() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return DEVICES; }
  int getNumGPUs() const override { return DEVICES; }
  c10::DeviceIndex current_device() const override { return current; }
  c10::DeviceIndex getCurrentDevice() const override { return current; }
  void setCurrentDevice(c10::DeviceIndex d) const override { current = d; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex d) const override {
    auto old = current;
    current = d;
    return old;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex d) const override {
    return exchangeDevice(d);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex i) const override {
    return generator(i);
  }
  void deviceSynchronize(c10::DeviceIndex) const override {}
  at::Allocator* getPinnedMemoryAllocator() const override { return c10::GetCPUAllocator(); }
};
using at::CUDAHooksArgs;
using at::CUDAHooksRegistry;
using at::RegistererCUDAHooksRegistry;
REGISTER_CUDA_HOOKS(CUDAHooks)

Tensor on_host(const Tensor& t) {  // the same memory, as a CPU tensor whose storage may grow
  auto s = t.storage();
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), s.nbytes(),
      c10::DataPtr(s.mutable_data(), c10::Device(c10::kCPU)), c10::GetCPUAllocator(), true);
  auto host = at::detail::make_tensor<at::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), t.dtype());
  host.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
  return host;
}

Tensor on_device(const Tensor& host, c10::Device device) {
  c10::DeviceGuard here(device);
  Tensor t = at::detail::empty_strided_generic(host.sizes(), host.strides(), &memory,
                                               c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                               host.scalar_type());
  on_host(t).copy_(host);
  return t;
}

Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype,
             std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>,
             std::optional<at::MemoryFormat> format) {
  c10::OptionalDeviceGuard here(device);
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &memory,
                                   c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                   dtype.value_or(at::get_default_dtype_as_scalartype()), format);
}
Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                     std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                     std::optional<at::Device> device, std::optional<bool>) {
  c10::OptionalDeviceGuard here(device);
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size),
                                           C10_AS_INTARRAYREF_SLOW(stride), &memory,
                                           c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                           dtype.value_or(at::get_default_dtype_as_scalartype()));
}
Tensor host_or_same(const Tensor& t) { return t.is_cuda() ? on_host(t) : t; }
Tensor& copy_(Tensor& to, const Tensor& from, bool non_blocking) {
  at::NoGradGuard off;
  if (to.is_cuda() != from.is_cuda() && !non_blocking) ++waits;
  host_or_same(to).copy_(host_or_same(from));
  return to;
}
Tensor copy_from(const Tensor& from, const Tensor& to, bool non_blocking) {
  if (to.is_cuda() != from.is_cuda() && !non_blocking) ++waits;
  host_or_same(to).copy_(host_or_same(from));
  return to;
}
at::Scalar item(const Tensor& t) {
  ++waits;
  return on_host(t).item();
}

Tensor alias(const Tensor& t, c10::IntArrayRef size, c10::IntArrayRef stride, int64_t offset) {
  auto made = at::detail::make_tensor<at::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(t.storage()), t.key_set(), t.dtype());
  made.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride, offset);
  return made;
}
Tensor as_strided(const Tensor& t, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                  std::optional<c10::SymInt> offset) {
  return alias(t, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
               offset ? offset->expect_int() : t.storage_offset());
}
Tensor view(const Tensor& t, c10::SymIntArrayRef size) {
  auto v = on_host(t).view(C10_AS_INTARRAYREF_SLOW(size));
  return alias(t, v.sizes(), v.strides(), v.storage_offset());
}
Tensor unfold(const Tensor& t, int64_t d, int64_t size, int64_t step) {
  auto v = on_host(t).unfold(d, size, step);
  return alias(t, v.sizes(), v.strides(), v.storage_offset());
}
const Tensor& resize_(const Tensor& t, c10::SymIntArrayRef size, std::optional<at::MemoryFormat>) {
  auto sizes = C10_AS_INTARRAYREF_SLOW(size);
  auto* impl = t.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(sizes);
  size_t need = (t.storage_offset() + t.numel()) * t.element_size();
  if (need > t.storage().nbytes()) {
    c10::DeviceGuard here(t.device());
    auto data = memory.allocate(need);
    if (t.storage().nbytes()) std::memcpy(data.get(), t.storage().data(), t.storage().nbytes());
    t.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(data));
    t.storage().unsafeGetStorageImpl()->set_nbytes(need);
  }
  return t;
}
Tensor& set_storage(Tensor& t, at::Storage s, c10::SymInt offset, c10::SymIntArrayRef size,
                    c10::SymIntArrayRef stride) {
  t.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(s));
  t.unsafeGetTensorImpl()->set_sizes_and_strides(
      C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), offset.expect_int());
  return t;
}

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  static const std::set<std::string> random = {
      "aten::native_dropout", "aten::bernoulli_",  "aten::bernoulli",
      "aten::normal_",        "aten::uniform_",    "aten::random_",
      "aten::randperm",       "aten::multinomial", "aten::exponential_"};
  static const std::set<std::string> of_unknown_size = {
      "aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim",
      "aten::unique_consecutive", "aten::bincount", "aten::equal"};
  const auto& schema = op.schema();
  if (of_unknown_size.count(schema.name())) ++waits;
  const auto n = schema.arguments().size();
  const auto begin = stack->size() - n;
  std::optional<c10::Device> device;
  std::vector<c10::IValue> given(stack->begin() + begin, stack->end());
  std::vector<std::pair<Tensor, Tensor>> written;
  auto lower = [&](const Tensor& t, bool write) {
    if (!t.defined()) return t;
    if (!t.is_cuda()) {
      TORCH_CHECK(t.dim() == 0 && !write, "host cuda: ", schema.name(), ": a tensor of ", t.sizes(),
                  " on ", t.device(), " among those of cuda");
      return t;
    }
    TORCH_CHECK(!device || *device == t.device() || t.dim() == 0, "host cuda: ", schema.name(),
                ": tensors on ", *device, " and ", t.device());
    if (!device) device = t.device();
    auto host = on_host(t);
    if (write) written.emplace_back(t, host);
    return host;
  };
  for (size_t i = 0; i < n; ++i) {
    auto& value = (*stack)[begin + i];
    const auto* info = schema.arguments()[i].alias_info();
    const bool write = info && info->isWrite();
    if (value.isTensor())
      value = lower(value.toTensor(), write);
    else if (value.isTensorList()) {
      std::vector<Tensor> all;
      for (const Tensor& t : value.toTensorVector()) all.push_back(lower(t, write));
      value = all;
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<Tensor>> all;
      for (const std::optional<Tensor>& t : value.toOptionalTensorVector()) {
        if (t && t->scalar_type() == at::kBool) ++waits;  // an index whose places are to be found
        all.push_back(t ? std::optional<Tensor>(lower(*t, write)) : std::nullopt);
      }
      value = all;
    } else if (value.isDevice()) {
      if (!device) device = value.toDevice();
      value = c10::Device(c10::kCPU);
    } else if (value.isGenerator())
      TORCH_CHECK(false, "host cuda: a generator given to ", schema.name());
  }
  TORCH_CHECK(device, "host cuda: no device for ", schema.name());
  c10::DeviceGuard here(*device);
  at::AutoDispatchBelowADInplaceOrView below;
  if (random.count(schema.name())) {
    auto cpu = at::detail::getDefaultCPUGenerator();
    auto own = generator(device->index()), was = cpu.clone();
    cpu.set_state(own.get_state());
    op.callBoxed(stack);
    own.set_state(cpu.get_state());
    cpu.set_state(was.get_state());
  } else {
    op.callBoxed(stack);
  }
  for (auto& [t, host] : written)
    if (host.sizes() != t.sizes() || host.storage().data() != t.storage().data()) {
      t.resize_(host.sizes());
      on_host(t).copy_(host);
    }
  const auto returns = schema.returns().size();
  auto at_return = stack->size() - returns;
  for (size_t r = 0; r < returns; ++r) {
    auto& value = (*stack)[at_return + r];
    const auto* info = schema.returns()[r].alias_info();
    if (info && info->isWrite()) {
      for (size_t i = 0; i < n; ++i) {
        const auto* a = schema.arguments()[i].alias_info();
        if (a && *a == *info) value = given[i];
      }
    } else if (value.isTensor()) {
      TORCH_CHECK(!info, "host cuda: a view by ", schema.name());
      if (value.toTensor().defined()) value = on_device(value.toTensor(), *device);
    } else if (value.isTensorList()) {
      std::vector<Tensor> all;
      for (const Tensor& t : value.toTensorVector())
        all.push_back(t.defined() ? on_device(t, *device) : t);
      value = all;
    }
  }
}

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("copy_", copy_);
  m.impl("_copy_from", copy_from);
  m.impl("_local_scalar_dense", item);
  m.impl("as_strided", as_strided);
  m.impl("view", view);
  m.impl("unfold", unfold);
  m.impl("resize_", resize_);
  m.impl("set_.source_Storage_storage_offset", set_storage);
  m.impl("_reshape_alias",
         [](const Tensor& t, c10::SymIntArrayRef size, c10::SymIntArrayRef stride) {
           return as_strided(t, size, stride, std::nullopt);
         });
}
TORCH_LIBRARY_IMPL(_, CUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}
TORCH_LIBRARY(host_cuda, m) {
  m.def("get_state(int i) -> Tensor", [](int64_t i) { return generator(i).get_state(); });
  m.def("set_state(int i, Tensor state) -> ()",
        [](int64_t i, const Tensor& state) { generator(i).set_state(state); });
  m.def("seed(int i, int seed) -> ()",
        [](int64_t i, int64_t seed) { generator(i).set_current_seed(seed); });
  m.def("on_host(Tensor t) -> Tensor", [](const Tensor& t) { return on_host(t); });
  m.def("waits() -> int", [] { return waits.load(); });
  m.def("current() -> int", [] { return static_cast<int64_t>(current); });
  m.def("use(int i) -> ()", [](int64_t i) { current = i; });
}
struct Register {
  Register() {
    c10::SetAllocator(CUDA, &memory);
    c10::impl::device_guard_impl_registry[static_cast<int>(CUDA)].store(&guard);
  }
} on_load;
}  // namespace
