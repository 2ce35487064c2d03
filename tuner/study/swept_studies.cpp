#include "tuner/study/swept_studies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "db/console/exit_codes.h"
#include "moe/errors.h"
#include "tuner/study/studies_in_turns.h"

namespace tuner {

std::string name_of_swept(const std::string& name, const std::vector<std::string>& swept) {
  return swept.empty() ? name : fmt::format("{} {}", name, fmt::join(swept, " "));
}

void run_studies(std::vector<SweptStudy>& studies, double budget_s,
                 const std::function<void(const std::string&)>& say) {
  const auto is_legal = [](const SweptStudy& one) { return one.refusal.empty(); };
  if (!studies.empty() && std::ranges::none_of(studies, is_legal)) {
    throw moe::InputError(studies.front().refusal);
  }
  std::vector<StudyOptions> all;
  for (const SweptStudy& one : studies) all.push_back(one.options);
  expect_new(all);
  constexpr double kNoTime_s = 1e-9;  // 0 would be any time
  const auto begin = std::chrono::steady_clock::now();
  std::exception_ptr first_refusal;
  bool any_ran = false;
  for (std::size_t i = 0; i < studies.size(); ++i) {
    SweptStudy& one = studies[i];
    if (!is_legal(one)) continue;
    const std::chrono::duration<double> used = std::chrono::steady_clock::now() - begin;
    if (budget_s > 0) one.options.budget_s = std::max(budget_s - used.count(), kNoTime_s);
    say(fmt::format("study {} of {}: \"{}\"", i + 1, studies.size(), one.options.name));
    try {
      one.end = run_study(one.options);
      any_ran = true;
    } catch (const moe::CommunicationError& error) {
      one.end.failure = error.what();
      one.end.ended_early = true;
      any_ran = true;
    } catch (const std::exception& error) {
      if (concerns_all(error)) throw;
      one.end.failure = error.what();
      any_ran = any_ran || moe::exit_code(error) != db::kExitWrongUse;
      if (!first_refusal) first_refusal = std::current_exception();
    }
    if (!one.end.failure.empty()) {
      say(fmt::format("study \"{}\": {}", one.options.name, one.end.failure));
    }
    if (!one.end.ended_early) continue;
    const auto left = std::count_if(studies.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                    studies.end(), is_legal);
    if (left > 0) say(fmt::format("{} of {} studies are not begun", left, studies.size()));
    return;
  }
  if (!any_ran && first_refusal) std::rethrow_exception(first_refusal);
}

}  // namespace tuner
