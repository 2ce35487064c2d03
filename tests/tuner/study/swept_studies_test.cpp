#include "tuner/study/swept_studies.h"

#include <gmock/gmock.h>

#include <vector>

#include "moe/errors.h"
#include "tests/tuner/study/study_fixture.h"

namespace tuner::swept_studies_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct SweptStudies : StudyTest {
  std::vector<std::string> said;

  std::vector<SweptStudy> of_choices(const std::vector<int>& choices) {
    std::vector<SweptStudy> studies;
    for (const int number : choices) {
      const std::vector<std::string> settings{"moe.choices=" + std::to_string(number)};
      SweptStudy& one = studies.emplace_back();
      one.settings = settings;
      one.options = options(name_of_swept("s", settings));
      one.options.model = moe::load_model(one.options.job.model, settings);
      one.options.job.settings = settings;
      one.options.planners = parse_planners("sequential");
      one.options.repeats = 1;
    }
    return studies;
  }
  void run(std::vector<SweptStudy>& studies, double budget_s = 0) {
    said.clear();
    run_studies(studies, budget_s, [this](const std::string& text) { said.push_back(text); });
  }
};

TEST_F(SweptStudies, AreStudiesOfTheirOwnOneAfterAnother) {
  auto studies = of_choices({1, 2});
  run(studies);
  EXPECT_THAT(said, Contains("study 2 of 2: \"s moe.choices=2\""));
  const auto connection = db::open_reader(database);
  for (const SweptStudy& one : studies) {
    EXPECT_EQ(one.end.failure, "");
    EXPECT_EQ(trials(one.options.name).front().status, "done");
    EXPECT_EQ(db::find_study(connection, one.options.name)->id, one.end.id);
  }
  EXPECT_THROW(run(studies), moe::InputError) << "they exist";
  for (SweptStudy& one : studies) one.options.resume = true;
  run(studies);
  EXPECT_EQ(db::load_trial_repeats(connection, trials("s moe.choices=2").front().id).size(), 1u);
}

TEST_F(SweptStudies, ThatExistAreRefusedBeforeAnyIsTrained) {
  auto second = of_choices({2});
  run(second);
  auto studies = of_choices({1, 2});
  EXPECT_THROW(run(studies), moe::InputError);
  EXPECT_FALSE(db::find_study(db::open_reader(database), "s moe.choices=1"));
}

TEST_F(SweptStudies, GoOnAfterOneThatFailsOrIsRefused) {
  auto studies = of_choices({1, 2, 1});
  studies[2].options.name = "s again";
  studies[0].options.job.program = misbehaving("exit 1");
  studies[1].refusal = "not legal";
  run(studies);
  EXPECT_THAT(studies[0].end.failure, HasSubstr("no trial was measured"));
  EXPECT_EQ(studies[1].end.id, 0);
  EXPECT_EQ(trials("s again").front().status, "done");
  studies.erase(studies.begin(), studies.begin() + 1);
  studies.pop_back();
  EXPECT_THROW(run(studies), moe::InputError) << "nothing else is there";
}

TEST_F(SweptStudies, EndWhereNoRankCanBeStarted) {
  auto studies = of_choices({1, 2});
  studies[0].options.job.program =
      misbehaving(R"(echo '{"status": "not_started", "message": "ssh: refused"}'; exit 1)");
  run(studies);
  EXPECT_THAT(studies[0].end.failure, HasSubstr("no rank was started"));
  EXPECT_EQ(studies[1].end.id, 0);
  EXPECT_THAT(said, Contains("1 of 2 studies are not begun"));
}

TEST_F(SweptStudies, ShareOneBudget) {
  auto studies = of_choices({1, 2});
  run(studies, 1e-6);
  EXPECT_TRUE(studies[0].end.ended_early);
  EXPECT_EQ(studies[0].end.failure, "") << "it was asked for";
  EXPECT_EQ(studies[1].end.id, 0) << "nothing is left for it";
}

}  // namespace
}  // namespace tuner::swept_studies_test
