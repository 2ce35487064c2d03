#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/console/options.h"
#include "tuner/scenario/scenario.h"
#include "tuner/study/study.h"

/// The subcommands of moe-tune; declare.h has their options.
namespace tuner {

struct Arguments {
  ScenarioOptions scenario;
  std::string planner;
  std::string planners = "sequential,tutel,pipemoe";
  std::string schedule;
  std::vector<std::string> given;   ///< schedule files whose decisions planners go on from
  std::string schedule_file = "-";  ///< the file to write a schedule to
  std::string trace;
  bool candidates = false;  ///< compare: a row for each candidate
  int plan_every = 0;       ///< compare: plan again every so many iterations; 0: plan once
  int history = 1;          ///< compare: by how many iterations a plan is judged that is made again
  bool timeline = false;
  bool breakdown = false;
  bool fits = false;
  bool memory = false;
  int most_chunks = 8;
  db::options::Output output;
  // search
  std::string ranks;  ///< numbers with commas between them; "": all of the cluster
  std::string layouts = "usual";
  std::string micro_batches = "all";
  std::string orders = "usual";
  std::string search_planners = "joint";
  std::string best_file;  ///< the file to write the best schedule to; "": none
  std::int64_t memory_bytes = 0;
  int top = 8;
  // study
  /// The four systems and what unites them; a study measures sequential beside any.
  std::string study_planners = "pro_prophet,fsmoe,lancet,mpmoe_pb,joint";
  std::string study_layouts;  ///< "best:3", "all", or layouts with / between them; "": one
  // fit
  std::vector<std::int64_t> runs;    ///< only their measurements; all where it is empty
  std::string since;                 ///< since.h; any time where it is empty
  std::string at;                    ///< sizes (moe/input/sizes.h) to compare fits at
  std::vector<std::string> judged;   ///< databases with studies whose predictions are judged
  std::vector<std::string> without;  ///< names of CostPart; each by itself where it is empty
  StudyOptions study;
};

/// Each prints its result on stdout and returns the exit code. They throw as the functions that
/// they call.
int fit(const Arguments& arguments, int argc, char** argv);
int judge(const Arguments& arguments);
int plan(const Arguments& arguments);
int simulate_schedule(const Arguments& arguments, int argc, char** argv);
int search(const Arguments& arguments, int argc, char** argv);
int compare(const Arguments& arguments);
int clusters(const Arguments& arguments);
int models(const Arguments& arguments);
int study(Arguments& arguments, int argc, char** argv);

}  // namespace tuner
