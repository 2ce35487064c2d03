#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "moe/input/value.h"

namespace tuner {

/// What keeps a rank busy, as far as it slows down what else the rank does.
enum class Occupation : std::uint8_t { computation, inter_node, intra_node, copy };
inline constexpr std::size_t kOccupations = 4;

std::string_view name_of(Occupation occupation);
/// True for communication.
constexpr bool is_link(Occupation occupation) {
  return occupation == Occupation::inter_node || occupation == Occupation::intra_node;
}

/// Which occupations there are beside an op on its rank.
using Company = std::array<bool, kOccupations>;

/// How fast y runs while x runs beside it on the same rank, in (0, 1].
///   speed[y][x] = MPMoE's alpha(y, x)                                   [MPMoE 4.2, printed]
/// Measured by `moe-bench interference` or by calibrate(); 1 where nothing is known. Communication
/// beside other communication of its own link is 1: links say how they are shared.
struct Interference {
  std::array<std::array<double, kOccupations>, kOccupations> speed;
  /// y beside two others or more: MPMoE's alpha(y, all). None: the product of the pairs.
  std::array<std::optional<double>, kOccupations> beside_all;
  /// Op kinds whose own slowdown beside communication was measured.
  std::map<std::string, double, std::less<>> kind_beside_communication;

  Interference();
};

double& speed_of(Interference& interference, Occupation y, Occupation x);
double speed_of(const Interference& interference, Occupation y, Occupation x);

/// The speed of y in company; `beside_communication`: of y's own op kind, where it was measured.
///
/// Beside one other that of the pair. Beside several alpha(y, all) where it was measured, for the
/// product of the pairs errs where one pair leaves the core idle that the other wants: between two
/// nodes of one core, communication beside computation ran at 0.93, beside copies at 0.93, beside
/// both at 0.70 (microbench/README.md). y beside more of itself is a factor of its own.
double speed_beside(const Interference& interference, Occupation y, const Company& company,
                    std::optional<double> beside_communication = std::nullopt);

/// Sets the speed that a key names, Y_beside_X, clamped to 1: Y of "computation", "inter_node",
/// "intra_node", "copy", X of these or "all". False where it names none.
bool set_speed(Interference& interference, std::string_view key, double speed);

/// Reads keys Y_beside_X of a table, each a speed in [least, most], which `expected` says in words. "communication" as Y or X is both
/// links, for which what names one of them goes first.
void read_speeds(const moe::InputObject& table, double least, double most,
                 std::string_view expected, Interference& interference);
/// {"computation_beside_copy": 0.5, ...}: the speeds that are not 1.
nlohmann::json speeds_json(const Interference& interference);

}  // namespace tuner
