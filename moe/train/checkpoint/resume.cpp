#include "moe/train/checkpoint/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "moe/communicator/announced_work.h"
#include "moe/communicator/ranks.h"
#include "moe/errors.h"
#include "moe/model/model_json.h"
#include "moe/train/checkpoint/folder.h"
#include "moe/train/checkpoint/load.h"

namespace moe {
namespace {

constexpr int kNotRead = 2;  // the exit code

std::string way_out_of(const std::filesystem::path& folder, const std::vector<int>& complete) {
  const std::string before =
      complete.size() > 1 ? fmt::format("go on from iteration {}", complete[complete.size() - 2])
                          : "begin anew";
  return fmt::format("to {}, move {} away", before, folder.string());
}

/// Refuses another model, and tells in lines how the training differs.
std::vector<std::string> compared(const CheckpointIndex& index, const std::filesystem::path& folder,
                                  const Model& model, const Corpus& corpus) {
  std::vector<std::string> remarks;
  for (const KeyDifference& one : differing_keys(index.model, model)) {
    if (one.table == "training" && one.key != "precision") {
      remarks.push_back(fmt::format("{} was {} up to iteration {}, and is {} from there on",
                                    one.key, one.first, index.iteration, one.second));
    } else if (!one.table.empty()) {
      throw InputError(fmt::format(
          "{}: is of another model: {} = {} there, {} here: expected the model that it is of, or "
          "another --checkpoint folder",
          folder.string(), one.key, one.first, one.second));
    }
  }
  const bool had_text = index.iteration > 0;  // else its parameters were imported
  if (had_text && index.corpus_fingerprint != corpus.fingerprint) {
    remarks.emplace_back("the text is not the one that the checkpoint was trained on");
  }
  return remarks;
}

}  // namespace

std::optional<ResumePoint> find_resume_point(const std::filesystem::path& directory,
                                             const Model& model, const Corpus& corpus) {
  const std::vector<int> complete = checkpoints_in(directory);
  if (complete.empty()) return std::nullopt;
  ResumePoint point;
  point.folder = checkpoint_folder(directory, complete.back());
  point.way_out = way_out_of(point.folder, complete);
  try {
    point.index = read_index(point.folder);
    if (point.index.iteration != complete.back()) {
      throw InputError(fmt::format("{}: is of iteration {}: expected {}, as its folder is named",
                                   (point.folder / kIndexFile).string(), point.index.iteration,
                                   complete.back()));
    }
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", error.what(), point.way_out));
  }
  point.remarks = compared(point.index, point.folder, model, corpus);
  return point;
}

void resume(Runner& runner, const ResumePoint& point, Communicator& world, double time_limit_s) {
  std::string failure;
  try {
    const AnnouncedWork reading("reads " + point.folder.string());
    load_tensors(runner, point.index, point.folder);
  } catch (const InputError& error) {
    failure = error.what();
  }
  CallContext call;
  call.time_limit_s = time_limit_s;
  call.what = "reading of a checkpoint";
  for (const std::string& one : gather_texts(world, failure, call)) {
    if (!one.empty()) throw CheckpointError(fmt::format("{}: {}", one, point.way_out), kNotRead);
  }
}

}  // namespace moe
