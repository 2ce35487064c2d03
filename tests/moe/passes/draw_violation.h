#pragma once

#include <functional>
#include <string>

#include "tests/moe/passes/random_draw.h"

/// The invariance property: how a draw breaks it, and the simplest one that does.
namespace moe::test {

/// How a draw breaks the property; empty where it holds.
std::string violation(const Draw& draw);

/// The most draws that shrink() tries; each is trained.
inline constexpr int kMostShrinkings = 150;

/// The simplest draw on the way down from a failing one that still fails, as far as kMostShrinkings
/// lead. A draw of which `fails` throws Refusal is illegal, and so no simpler case of the same.
Draw shrink(
    Draw draw, const std::function<bool(const Draw&)>& fails = [](const Draw& one) {
      return !violation(one).empty();
    });

}  // namespace moe::test
