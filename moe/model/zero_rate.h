#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "moe/model/model.h"

namespace moe {

/// The iteration from which on the learning rate is 0, where some of `steps` iterations come after
/// it; none else.
std::optional<std::int64_t> zero_rate_from(const Model& model, std::int64_t steps);

/// A line for a person before such a training; "" for others.
std::string remark_on_zero_rate(const Model& model, std::int64_t steps);

}  // namespace moe
