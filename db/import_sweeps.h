#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

/// Sweeps of collectives that other programs measured, as rows of moe-bench.
namespace db {

/// What a log does not say, or not always. Empty and 0: as the log says.
struct SweepFacts {
  std::string collective = {};  ///< "all_reduce"
  std::string machine = {};     ///< a name of the cluster or the node
  std::string gpu = {};         ///< "NVIDIA A100"
  std::string network = {};     ///< between its nodes
  std::string device = {};      ///< "cpu" | "cuda"
  int ranks = 0, nodes = 0;
};

/// A table of one collective.
struct ImportedSweep {
  std::vector<Measurement> rows;   ///< run_id stays 0
  std::vector<std::string> hosts;  ///< [rank]; of `nodes` equal parts where the log names none
  std::string gpu;                 ///< "NVIDIA H200"; empty where it is not known
  std::string machine;             ///< as the person or the log calls it
  std::string network;             ///< as the person calls it
};
struct ImportedSweeps {
  std::vector<ImportedSweep> sweeps;  ///< in the order of the log
  std::vector<std::string> remarks;   ///< what was chosen, and what was left out, for a person
};

/// The log of a program of nccl-tests or rccl-tests, or of several. `bytes` are the size that it
/// prints, times those out of place or, where there is none, in place. The collective is what the log
/// or the name of the file says, or `facts`; it must agree with the ratio of bus to algorithm
/// bandwidth [nccl-tests, PERFORMANCE.md]. Rows with wrong values are left out, and lines of other
/// programs in between. Throws Error (invalid) with the number of the line for a row that is cut off,
/// or whose figures contradict each other, and where something is not known.
ImportedSweeps read_nccl_tests(std::istream& log, const std::string& name, const SweepFacts& facts);

/// The log of a collective of OSU's benchmarks. `bytes` are those of the whole array as in
/// moe-bench: for all-to-all and all-gather the size that it prints is that of one rank's part.
/// Throws as read_nccl_tests; machine, ranks and nodes are never in the log.
ImportedSweeps read_osu(std::istream& log, const std::string& name, const SweepFacts& facts);

/// A table of all-reduce as vTrain publishes them [VIA-Research/vTrain, trace/]: CSV of size, count,
/// type, and twice time in ns and bus bandwidth, out of place and in place, in a file
/// AR_GPU<ranks>_..., of one node where facts.nodes does not say more. Throws as read_nccl_tests.
ImportedSweeps read_vtrain(std::istream& table, const std::string& name, const SweepFacts& facts);

/// What became of the sweeps of a file.
struct StoredSweeps {
  struct Sweep {
    std::int64_t run_id = 0;
    bool is_known =
        false;  ///< the same figures of the same machine were stored before, as that run
    std::vector<std::int64_t> beside = {};  ///< runs of the same collective on the same ranks there
  };
  std::vector<Sweep> sweeps;  ///< as in the file
};

/// Stores each sweep as a run of kind "bench" on a machine of its own, which the name of the machine
/// tells apart, so that costs never mix it with what this computer measures, nor with logs of other
/// machines. A sweep whose figures are stored already is left out. All are stored, or nothing.
StoredSweeps store_sweeps(Connection& connection, const Run& run, const ImportedSweeps& imported);

}  // namespace db
