#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "moe/backend/backend.h"
#include "moe/rows/tensor.h"

/// The whole training step against PyTorch. tests/golden/make_golden.py wrote the files and says
/// how; make_group_gate_golden.py beside it those of gates that look at whole groups.
namespace moe::test {

struct GoldenSetting {
  Layout layout;  ///< of threads of this process
  DType dtype;
};
inline void PrintTo(const GoldenSetting& setting, std::ostream* out) {
  *out << to_text(setting.layout) << ", " << (setting.dtype == DType::f64 ? "f64" : "f32");
}

using MakeBackend = std::function<std::unique_ptr<Backend>()>;

int golden_cases();
/// "mixtral_Top2CapacityDp2Ep2Esp1Tp1F64"
std::string golden_name(int golden_case, const GoldenSetting& setting);

/// Trains as the file's case says, on a backend per rank, and expects its losses, every gradient of
/// the first step and the parameters after the last: within 1e-9 in f64 and 1e-5 in f32, relative
/// norms.
void expect_golden_step(int golden_case, const GoldenSetting& setting,
                        const MakeBackend& make_backend);

}  // namespace moe::test
