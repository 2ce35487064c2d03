#pragma once

#include <string>
#include <vector>

#include "db/timeline/collective.h"
#include "db/timeline/critical_path.h"
#include "db/timeline/difference.h"
#include "db/timeline/exposure.h"
#include "db/timeline/summary.h"

/// Why an iteration took as long as it did, in words: what the report and `moe-db why` say.
namespace db {

struct Why {
  Summary summary;                 ///< of all of the timeline
  std::vector<PathPart> path;      ///< empty where the causes are not known
  std::vector<ExposedOp> exposed;  ///< the most exposed first
  std::vector<Lateness> late;      ///< of ranks; empty where nothing tells who takes part together
};

/// `all_together`: see exposed_ops().
Why why(const Timeline& timeline, bool all_together);

/// How much a rank computed, communicated and waited, and of each of the most exposed
/// communications whom it waited for and what follows it: a paragraph each. `of` is what the
/// iteration is of. Empty for a timeline of no length.
std::vector<std::string> exposure_text(const Timeline& timeline, const std::string& of,
                                       const Why& why);

/// What the critical path is made of, and which rank the others waited for most. Paragraphs of what
/// is not known are left out.
std::vector<std::string> path_and_late_text(const Why& why);

/// "The second took 2.3 ms longer than the first: +3.1 ms all to all, exposed; ...", and at which
/// paces they computed.
std::string difference_text(const Differences& differences);

}  // namespace db
