// Links every op's `work`, and every communication's `bytes_to_peers`, seconds after moe/ops has
// been compiled. One that is declared and not defined fails here, by name, and not where programs
// are linked at the end of a build.
#include <cstdio>
#include <tuple>

#include "moe/program/op.h"

namespace {

template <class Kind>
constexpr auto definitions() {
  if constexpr (moe::Communicates<Kind>) {
    return std::tuple(&Kind::work, &Kind::bytes_to_peers);
  } else {
    return std::tuple(&Kind::work);
  }
}

template <class... Kinds>
int count(const std::variant<Kinds...>*) {
  static volatile const auto all = std::tuple(definitions<Kinds>()...);
  static_cast<void>(all);
  return sizeof...(Kinds);
}

}  // namespace

int main() { std::printf("%d ops\n", count(static_cast<const moe::AnyOpKind*>(nullptr))); }
