#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "moe/model/model.h"
#include "moe/rows/layout.h"

namespace moe {

/// Another value of one key of a model file.
struct ModelChange {
  std::string_view key;
  std::string text;  ///< "global_batch = 15"
  std::function<void(Model&)> make;
};

/// Why a model cannot be trained under a layout.
struct LayoutRefusal {
  std::string message;               ///< "global_batch = 16 does not divide by 3 ranks"
  std::vector<ModelChange> changes;  ///< each of which may mend it
};

/// Whether the model can be trained under a layout, for parse_layout. The model outlives the
/// result.
LayoutFits fits(const Model& model);

/// The first reason there is; none where the model can be trained so.
std::optional<LayoutRefusal> layout_refusal(const Model& model, const Layout& layout);

}  // namespace moe
