#pragma once

#include <string>

#include "db/records.h"

namespace db {

/// The kind of a computer, in words that are equal for computers that are alike, whatever their
/// names: "2 cores of AMD EPYC 7B13, 16 GiB", with GPUs "..., 4 x NVIDIA H100". Memory is in whole
/// GiB, since a kernel keeps a little for itself.
std::string machine_class(const Machine& machine);

}  // namespace db
