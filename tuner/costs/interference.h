#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "moe/input/value.h"

namespace tuner {

/// The kinds of work of a rank that slow each other down.
enum class Occupation : std::uint8_t { computation, inter_node, intra_node, copy };
inline constexpr std::size_t kOccupations = 4;

std::string_view name_of(Occupation occupation);
/// True for communication.
constexpr bool is_link(Occupation occupation) {
  return occupation == Occupation::inter_node || occupation == Occupation::intra_node;
}

/// [occupation]: true where the rank does work of that kind while an op runs.
using Company = std::array<bool, kOccupations>;

/// The speed of y while x runs on the same rank, in (0, 1], relative to y alone.
///   speed[y][x] = MPMoE's alpha(y, x)                                   [MPMoE 4.2, printed]
/// Measured by `moe-bench interference` or, but for alpha(y, all), by calibrate(); 1 where nothing
/// is known. It is 1 for two communications of one link, since the simulation shares the link
/// between them.
struct Interference {
  std::array<std::array<double, kOccupations>, kOccupations> speed;
  /// The speed of y while two or more others run: MPMoE's alpha(y, all). None: the product of the
  /// pairs.
  std::array<std::optional<double>, kOccupations> beside_all;

  Interference();
};

double& speed_of(Interference& interference, Occupation y, Occupation x);
double speed_of(const Interference& interference, Occupation y, Occupation x);

/// The speed of y while `company` runs.
///
/// With one other occupation it is the speed of the pair. With several it is alpha(y, all) where
/// that was measured, because the product of the pairs is wrong where one pair leaves a core idle
/// that the other needs. Between two nodes of one core, communication ran at 0.93 beside
/// computation, at 0.93 beside copies, and at 0.70 beside both (experiments/interference). More
/// work of y's own occupation is a separate factor.
double speed_beside(const Interference& interference, Occupation y, const Company& company);

/// Sets the speed that a key Y_beside_X names, at most 1. Y is "computation", "inter_node",
/// "intra_node" or "copy"; X is one of these or "all". False where the key is not of this form.
bool set_speed(Interference& interference, std::string_view key, double speed);

/// Reads the keys Y_beside_X of a table, each a speed in [least, most], which `expected` says in
/// words. "communication" as Y or X stands for both links; a key that names one link takes
/// precedence.
void read_speeds(const moe::InputObject& table, double least, double most,
                 std::string_view expected, Interference& interference);
/// {"computation_beside_copy": 0.5, ...}: the speeds that are not 1.
nlohmann::json speeds_json(const Interference& interference);

}  // namespace tuner
