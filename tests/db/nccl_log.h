#pragma once

#include <sstream>
#include <string>

#include "db/import_sweeps.h"

/// A log of nccl-tests.
namespace db {

/// Four ranks on two hosts. All-reduce: bus bandwidth 1.5 times the other.
inline const std::string kTableHead =
    "# nThread 1 nGpus 1 minBytes 1024 maxBytes 4194304\n# Using devices\n"
    "#  Rank  0 Group  0 Pid     11 on  alpha device  0 [0x10] NVIDIA X9\r\n"
    "#  Rank  1 Group  0 Pid     12 on  alpha device  1 [0x20] NVIDIA X9\r\n"
    "#  Rank  2 Group  0 Pid     13 on   beta device  0 [0x10] NVIDIA X9\r\n"
    "#  Rank  3 Group  0 Pid     14 on   beta device  1 [0x20] NVIDIA X9\r\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
inline const std::string kTableRow =
    "  1000000  250000  float  sum  -1  50.00  20.00  30.00  0  51.00  19.61  29.41  0\n";

inline ImportedSweeps sweeps_of_log(const std::string& text, const SweepFacts& facts = {},
                                    const std::string& name = "all_reduce.txt") {
  std::istringstream log(text);
  return read_nccl_tests(log, name, facts);
}

}  // namespace db
