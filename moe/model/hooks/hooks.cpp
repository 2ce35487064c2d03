#include "moe/model/hooks/hooks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "moe/model/named.h"

namespace moe {
namespace {

std::string_view rows_text(Rows rows) {
  switch (rows) {
    case Rows::fixed:
      return "";
    case Rows::sent:
      return "sent";
    case Rows::received:
      return "received";
    case Rows::gathered:
      return "gathered";
    case Rows::relayed:
    case Rows::leader_sent:
    case Rows::leader_received:
      break;  // only decisions make such rows, after hooks
  }
  throw std::logic_error("rows_text: no such rows");
}

/// "64 x 16", "sent rows x 16"
std::string shape_text(const Tensor& tensor) {
  return tensor.rows_are == Rows::fixed
             ? fmt::format("{} x {}", tensor.rows, tensor.columns)
             : fmt::format("{} rows x {}", rows_text(tensor.rows_are), tensor.columns);
}

void check_shape(LayerBuilder& build, HookPlace place, const Hook& hook, TensorId in,
                 TensorId out) {
  const auto& tensors = build.program().tensors;
  const Tensor& from = tensors[in];
  const Tensor& to = tensors[out];
  if (from.rows_are == to.rows_are && from.rows == to.rows && from.columns == to.columns &&
      from.dtype == to.dtype && from.layer == to.layer) {
    return;
  }
  throw std::invalid_argument(fmt::format(
      "hook \"{}\" at {}: got {} ({}) and left {} ({}): expected the same shape and dtype",
      hook.name, kHookPlaces[static_cast<std::size_t>(place)], from.name, shape_text(from), to.name,
      shape_text(to)));
}

}  // namespace

HookPlace hook_place_named(std::string_view name) {
  const auto found = std::find(kHookPlaces.begin(), kHookPlaces.end(), name);
  if (found == kHookPlaces.end()) {
    throw InputError(fmt::format("no place \"{}\" for a hook; there are {}", name,
                                 fmt::join(kHookPlaces, ", ")));
  }
  return static_cast<HookPlace>(found - kHookPlaces.begin());
}

const std::vector<Hook>& hooks() {
#define MOELAB_LIST_HOOK(name, rows, description) {#name, HookRows::rows, description, name##_hook},
  static const std::vector<Hook> all{MOELAB_HOOKS(MOELAB_LIST_HOOK)};
#undef MOELAB_LIST_HOOK
  return all;
}

const Hook& hook_named(std::string_view name) { return find_named(hooks(), name, "hook"); }

Layer hooked(LayerBuilder& build, HookPlace place, const Hook& hook, TensorId x) {
  const Layer layer = hook.build(build, place, x);
  check_shape(build, place, hook, x, layer.output);
  const auto backward = [=, &build, hook = hook](TensorId dy) {
    const TensorId dx = layer.backward(dy);
    check_shape(build, place, hook, dy, dx);
    return dx;
  };
  return {layer.output, backward};
}

Layer hooked(LayerBuilder& build, HookPlace place, TensorId x) {
  const auto& hooks_of_model = build.model.hooks;
  const auto found = hooks_of_model.find(std::string(kHookPlaces[static_cast<std::size_t>(place)]));
  if (found == hooks_of_model.end()) return unchanged(x);
  return hooked(build, place, hook_named(found->second), x);
}

}  // namespace moe
