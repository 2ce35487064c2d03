#include "db/console/help_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "db/console/options.h"

namespace db::help_text_test {
namespace {

using testing::HasSubstr;

TEST(HelpText, LinesBreakBetweenWordsAndWhereTheTextDoes) {
  const std::string word(30, 'x');
  EXPECT_EQ(wrapped(word + " " + word + " " + word, 2), word + " " + word + "\n  " + word);
  EXPECT_EQ(wrapped("a\nb", 1), "a\n b");
  EXPECT_EQ(wrapped(std::string(100, 'x'), 0), std::string(100, 'x'));
}

TEST(HelpText, OnlyLinesThatAreTooLongAreWrapped) {
  const std::string word(30, 'x'), row = "  " + word + "   " + word;
  EXPECT_EQ(wrapped_lines("a\n\n" + row), "a\n\n" + row);
  EXPECT_EQ(wrapped_lines(row + " " + word), "  " + word + " " + word + "\n  " + word);
}

TEST(HelpText, StaysWithin80ColumnsAndTellsDefaults) {
  CLI::App app("What the program is for, told in a sentence that is longer than a line of it.",
               "p");
  options::set_up_program(app, "p --steps 3");
  int steps = 100;
  std::string planner, schedule;
  app.add_option("--steps", steps,
                 "how many iterations to train, which takes as long as they take together")
      ->capture_default_str();
  auto* first = app.add_option("--schedule", schedule, "a schedule")->group("Schedule");
  app.add_option("--planner", planner, "a planner")->group("Schedule")->excludes(first)->required();
  const std::string help = app.help();
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_THAT(help, HasSubstr("[default: 100]"));
  EXPECT_THAT(help, HasSubstr("a planner (required); not with --schedule"));
  EXPECT_THAT(help, HasSubstr("\n\nSchedule:\n"));
  EXPECT_THAT(help, HasSubstr("Example:\n  p --steps 3\n\nExit codes: 0 done"));
}

}  // namespace
}  // namespace db::help_text_test
