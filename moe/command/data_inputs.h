#pragma once

#include <optional>
#include <vector>

#include "moe/command/arguments.h"
#include "moe/communicator/same_inputs.h"
#include "moe/model/model.h"
#include "moe/train/batches.h"
#include "moe/train/checkpoint/resume.h"
#include "moe/train/data.h"
#include "moe/train/trainer.h"

namespace moe {

/// Opens what `--data` names, each FILE or FILE:WEIGHT, or the default text. A name with a colon is
/// taken as it is where there is a file of that name. Where one file has a weight, those without
/// have 1. Throws InputError as open_corpus() does, and for a weight that is not above 0.
Corpus open_data(const TrainArguments& arguments, const Model& model);

/// Which text it is, source by source: all ranks have to have the same, wherever its files lie.
std::vector<InputFact> facts_of_data(const Corpus& corpus);

/// What is drawn from it. A training that goes on has its files where the checkpoint has them, and
/// in its order; the remarks of `resume` then also tell what is drawn otherwise than before.
DataOptions data_options(const TrainArguments& arguments, const Model& model, Corpus& corpus,
                         std::optional<ResumePoint>& resume);

/// Tells a person which epochs end with an iteration of `tokens` tokens. Where samples are drawn at
/// random there are none, and it tells when as many tokens have been drawn as the text has: some of
/// it has then been seen several times, and some not yet.
void say_epochs(const DataOptions& options, const Corpus& corpus, std::int64_t tokens,
                const StepReport& step);

}  // namespace moe
