// Attention by cuDNN, which is loaded at run time. Its front end, headers alone, writes the graph of
// operations; cuDNN finds a kernel for it.
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>
#include <dlfcn.h>

#include <array>
#include <exception>
#include <unordered_map>

#include "moe/backend/cuda/fused_attention.cuh"
#include "moe/backend/cuda_check.cuh"

/// Where the front end looks for cuDNN's functions.
void* cudnn_frontend::cudnn_dlhandle = nullptr;

namespace moe {
namespace {

namespace fe = cudnn_frontend;

/// The handle of the library, nullptr where it is not there. Loaded once, and never closed.
void* cudnn_library() {
  static void* const library = [] {
    fe::cudnn_dlhandle = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    return fe::cudnn_dlhandle;
  }();
  return library;
}

/// Names of a plan's operands.
enum Operand : std::int64_t { kQ = 1, kK, kV, kY, kStatistics, kDy, kDq, kDk, kDv };

void set_layout(fe::graph::Tensor_attributes& tensor, Operand name, const FusedSizes& sizes,
                const FusedLayout& layout) {
  tensor.set_uid(name)
      .set_dim({sizes.sequences, layout.heads, sizes.length, layout.columns})
      .set_stride({layout.sequence, layout.head, layout.token, 1});
}

/// A device that need not be there; none where there are no properties.
struct Described {
  std::shared_ptr<fe::DeviceProperties> properties;
  int compute_capability = 0;
};

/// The graph of one direction.
class AttentionGraph {
 public:
  AttentionGraph(const FusedSizes& sizes, const Described& described) : sizes_(sizes) {
    graph_.set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    if (described.properties) {
      graph_.set_device_properties(described.properties);
      graph_.set_sm_version(described.compute_capability);
    }
  }

  void add_forward() {
    const auto [y, statistics] =
        graph_.sdpa(input(kQ, queries_layout(sizes_)), input(kK, keys_layout(sizes_)),
                    input(kV, values_layout(sizes_)),
                    fe::graph::SDPA_attributes()
                        .set_name("attention")
                        .set_generate_stats(true)
                        .set_causal_mask(true)
                        .set_attn_scale(scale_of(sizes_)));
    output(*y, kY, outputs_layout(sizes_));
    output(*statistics, kStatistics, statistics_layout(sizes_));
    statistics->set_data_type(fe::DataType_t::FLOAT);
  }
  void add_gradient() {
    const auto statistics = input(kStatistics, statistics_layout(sizes_));
    statistics->set_data_type(fe::DataType_t::FLOAT);
    const auto [dq, dk, dv] =
        graph_.sdpa_backward(input(kQ, queries_layout(sizes_)), input(kK, keys_layout(sizes_)),
                             input(kV, values_layout(sizes_)), input(kY, outputs_layout(sizes_)),
                             input(kDy, outputs_layout(sizes_)), statistics,
                             fe::graph::SDPA_backward_attributes()
                                 .set_name("attention gradient")
                                 .set_causal_mask(true)
                                 .set_attn_scale(scale_of(sizes_))
                                 .set_deterministic_algorithm(true));
    output(*dq, kDq, queries_layout(sizes_));
    output(*dk, kDk, keys_layout(sizes_));
    output(*dv, kDv, values_layout(sizes_));
  }

  /// "" or why cuDNN does not compute it.
  std::string build(cudnnHandle_t handle) {
    std::string why;
    const auto done = [&](fe::error_t error) {
      if (error.is_bad()) why = error.get_message();
      return error.is_good();
    };
    const bool built = done(graph_.validate()) &&
                       done(handle == nullptr ? graph_.build_operation_graph()
                                              : graph_.build_operation_graph(handle)) &&
                       done(graph_.create_execution_plans({fe::HeurMode_t::A})) &&
                       done(graph_.check_support()) && done(graph_.build_plans()) &&
                       done(graph_.get_workspace_size(workspace_bytes_));
    return built ? "" : why.empty() ? "no reason given" : why;
  }

  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  fe::graph::Graph& graph() { return graph_; }

 private:
  std::shared_ptr<fe::graph::Tensor_attributes> input(Operand name, const FusedLayout& layout) {
    fe::graph::Tensor_attributes tensor;
    set_layout(tensor, name, sizes_, layout);
    return graph_.tensor(tensor);
  }
  void output(fe::graph::Tensor_attributes& tensor, Operand name, const FusedLayout& layout) const {
    set_layout(tensor, name, sizes_, layout);
    tensor.set_output(true);
  }

  FusedSizes sizes_;
  fe::graph::Graph graph_;
  std::int64_t workspace_bytes_ = 0;
};

[[noreturn]] void throw_cudnn_error(const char* what, const std::string& why,
                                    CallSite where = CallSite::current()) {
  throw_cuda_error(what, why, false, where);
}
void check_cudnn(cudnnStatus_t status, const char* what, CallSite where = CallSite::current()) {
  if (status != CUDNN_STATUS_SUCCESS) {
    throw_cudnn_error(what, fe::detail::get_error_string(status), where);
  }
}

class CudnnPlan : public FusedPlan {
 public:
  CudnnPlan(std::unique_ptr<AttentionGraph> graph, cudnnHandle_t handle)
      : graph_(std::move(graph)), handle_(handle) {}

  std::int64_t workspace_bytes() const override { return graph_->workspace_bytes(); }

  void run(const FusedOperands& o, void* workspace, cudaStream_t stream) override {
    if (handle_ == nullptr) throw_cudnn_error("cuDNN", "a plan of a device that is not there");
    check_cudnn(fe::detail::set_stream(handle_, stream), "cudnnSetStream");
    // The front end takes addresses of what is only read as it takes others.
    const auto written = [](const Bf16* read) { return const_cast<Bf16*>(read); };
    std::unordered_map<std::int64_t, void*> addresses{{kQ, written(o.q)},
                                                      {kK, written(o.k)},
                                                      {kV, written(o.v)},
                                                      {kY, o.y},
                                                      {kStatistics, o.log_sum_exp}};
    if (o.dy != nullptr) {
      addresses.insert({{kDy, written(o.dy)}, {kDq, o.dq}, {kDk, o.dk}, {kDv, o.dv}});
    }
    fe::error_t error = graph_->graph().execute(handle_, addresses, workspace);
    if (error.is_bad()) throw_cudnn_error("cuDNN's attention", error.get_message());
  }

 private:
  std::unique_ptr<AttentionGraph> graph_;
  cudnnHandle_t handle_;
};

class Cudnn : public FusedLibrary {
 public:
  explicit Cudnn(const DescribedDevice* described) {
    if (described == nullptr) {
      check_cudnn(fe::detail::create_handle(&handle_), "cudnnCreate");
      return;
    }
    // A text of C ends by a zero.
    const char* const text = described->json.c_str();
    described_ = {std::make_shared<fe::DeviceProperties>(), described->compute_capability};
    fe::error_t error = described_.properties->deserialize(
        std::vector<std::uint8_t>(text, text + described->json.size() + 1));
    if (error.is_bad()) throw_cudnn_error("properties of a device", error.get_message());
  }
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;
  ~Cudnn() override {
    if (handle_ != nullptr) fe::detail::destroy_handle(handle_);
  }

  MadePlan plan(const FusedSizes& sizes, bool gradient) override {
    try {
      auto graph = std::make_unique<AttentionGraph>(sizes, described_);
      gradient ? graph->add_gradient() : graph->add_forward();
      std::string refusal = graph->build(handle_);
      if (!refusal.empty()) return {nullptr, std::move(refusal)};
      return {std::make_unique<CudnnPlan>(std::move(graph), handle_), ""};
    } catch (const std::exception& error) {  // of the front end, where a function is missing
      return {nullptr, error.what()};
    }
  }

 private:
  cudnnHandle_t handle_ = nullptr;
  Described described_;
};

}  // namespace

std::string fused_library_name() {
  if (cudnn_library() == nullptr) return "";
  const std::size_t version = fe::detail::get_backend_version();
  return "cuDNN " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         "." + std::to_string(version % 100);
}

std::unique_ptr<FusedLibrary> open_fused_library(const DescribedDevice* described) {
  if (cudnn_library() == nullptr) return nullptr;
  return std::make_unique<Cudnn>(described);
}

}  // namespace moe
