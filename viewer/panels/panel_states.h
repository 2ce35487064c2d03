#pragma once

#include <any>
#include <map>
#include <typeindex>

namespace viewer {

/// The states that panels keep from frame to frame: one value of each type, made at first use.
/// So adding a panel adds no member anywhere.
class PanelStates {
 public:
  template <typename State>
  State& of() {
    std::any& state = states_[typeid(State)];
    if (!state.has_value()) state.emplace<State>();
    return *std::any_cast<State>(&state);
  }

 private:
  std::map<std::type_index, std::any> states_;
};

}  // namespace viewer
