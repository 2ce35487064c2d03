#include "moe/communicator/mpi_job.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "moe/communicator/slurm.h"
#include "moe/errors.h"

namespace moe::mpi_job_test {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

/// As Slurm 22.05 sets them, among others.
const Variables kSalloc = {{"SLURM_JOB_ID", "3"}, {"SLURM_NTASKS", "4"}};
const Variables kBatch = {
    {"SLURM_JOB_ID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}, {"ENVIRONMENT", "BATCH"}};
const Variables kSrun = {{"SLURM_JOB_ID", "3"},
                         {"SLURM_NTASKS", "4"},
                         {"SLURM_PROCID", "0"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_STEP_NUM_TASKS", "4"}};

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

/// This process is itself no MPI job, and no job of Slurm's.
class MpiJob : public testing::Test {
 protected:
  void SetUp() override {
    if (inside_mpi_job() || inside_allocation()) GTEST_SKIP() << "this test runs inside a job";
  }
  void TearDown() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }
  void set(const Variables& variables) {
    TearDown();
    set_.clear();
    for (const auto& [name, value] : variables) {
      setenv(name.c_str(), value.c_str(), 1);
      set_.push_back(name);
    }
  }
  static std::string refusal(const std::function<void()>& call) {
    try {
      call();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

 private:
  std::vector<std::string> set_;
};

TEST_F(MpiJob, RankAndSizeAreTheLaunchers) {
  EXPECT_FALSE(inside_mpi_job());
  EXPECT_EQ(mpi_job_size(), std::nullopt);
  set({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  EXPECT_TRUE(inside_mpi_job());
  EXPECT_EQ(mpi_job_rank(), 1);
  EXPECT_EQ(mpi_job_size(), 2);
}

TEST_F(MpiJob, SizeIsUnknownWhereTheLauncherDoesNotSay) {
  set({{"PMI_RANK", "0"}});
  EXPECT_TRUE(inside_mpi_job());
  EXPECT_EQ(mpi_job_size(), std::nullopt);
}

TEST_F(MpiJob, SizeIsSlurmsWherePmixDoesNotSay) {
  set(with(kSrun, {{"PMIX_RANK", "0"}}));
  EXPECT_EQ(mpi_job_size(), 4);
}

TEST_F(MpiJob, AnAllocationSaysHowManyRanksByDefault) {
  EXPECT_EQ(ranks_or_allocation(std::nullopt), std::nullopt);
  for (const Variables& allocation :
       {kSalloc, kBatch, with(kSrun, {{"SLURM_STEP_ID", "4294967290"}})}) {
    set(allocation);
    EXPECT_TRUE(inside_allocation());
    EXPECT_EQ(ranks_or_allocation(std::nullopt), 4);
    EXPECT_EQ(ranks_or_allocation(2), 2);
    EXPECT_EQ(tasks_of_slurm_step(), std::nullopt);
  }
  set({{"SLURM_JOB_ID", "3"}});
  EXPECT_EQ(ranks_or_allocation(std::nullopt), std::nullopt);
}

TEST_F(MpiJob, AHostfileSaysHowManyRanksOfAnAllocation) {
  const std::string hosts = testing::TempDir() + "mpi_job_test_hosts";
  std::ofstream(hosts) << "node2 slots=1\nnode3 slots=2\n";
  for (const Variables& place : {Variables{}, kSalloc}) {
    set(place);
    EXPECT_EQ(ranks_or_allocation(std::nullopt, hosts), 3);
    EXPECT_EQ(ranks_or_allocation(1, hosts), 1);
  }
  set({{"PMIX_RANK", "0"}});
  EXPECT_EQ(ranks_or_allocation(std::nullopt, "/nonexistent"), std::nullopt) << "a rank reads none";
}

TEST_F(MpiJob, ATaskIsARankAndHasNoAllocation) {
  // A batch script's srun, and a step whose number is not told.
  for (const Variables& task :
       {kSrun, with(kSrun, {{"ENVIRONMENT", "BATCH"}}), with(kSalloc, {{"SLURM_PROCID", "0"}})}) {
    set(task);
    EXPECT_EQ(tasks_of_slurm_step(), 4);
    EXPECT_EQ(ranks_or_allocation(std::nullopt), std::nullopt);
  }
}

TEST_F(MpiJob, SeveralTasksWithoutPmiAreRefused) {
  set(kSrun);
  EXPECT_THAT(refusal([] { refuse_lone_tasks(std::nullopt); }),
              HasSubstr("4 tasks without PMI, so that each would be alone: expected `srun "
                        "--mpi=pmix`"));
  EXPECT_EQ(refusal([] { refuse_lone_tasks(1); }), "");
  for (const Variables& other : {Variables{}, kSalloc, kBatch, with(kSrun, {{"PMIX_RANK", "0"}}),
                                 with(kSrun, {{"SLURM_STEP_NUM_TASKS", "1"}})}) {
    set(other);
    EXPECT_EQ(refusal([] { refuse_lone_tasks(std::nullopt); }), "");
  }
}

TEST_F(MpiJob, AProgramThatStartsRanksIsNoSeveralTasks) {
  for (const Variables& several :
       {kSrun, with(kSrun, {{"PMIX_RANK", "0"}}), Variables{{"PMI_RANK", "1"}},
        Variables{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}}) {
    set(several);
    EXPECT_THAT(refusal([] { refuse_several_tasks("moe-tune"); }), HasSubstr("expected it once"));
  }
  for (const Variables& one : {Variables{}, kSalloc, kBatch, Variables{{"PMI_RANK", "0"}},
                               with(kSrun, {{"SLURM_STEP_NUM_TASKS", "1"}})}) {
    set(one);
    EXPECT_EQ(refusal([] { refuse_several_tasks("moe-tune"); }), "");
  }
}

TEST_F(MpiJob, IsLeftWithoutTheSettingsOfAUser) {
  const Variables settings = {{"PMIX_MCA_gds", "hash"},
                              {"OMPI_MCA_orte_default_hostfile", "hosts"},
                              {"OMPI_MCA_btl", "self,tcp"}};
  set(with(settings, {{"PMIX_RANK", "0"},
                      {"PMI_FD", "3"},
                      {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                      {"OMPI_MCA_ess_base_jobid", "7"},
                      {"OMPI_MCA_orte_hnp_uri", "uri"}}));
  leave_mpi_job();
  EXPECT_FALSE(inside_mpi_job());
  for (const char* name : {"PMI_FD", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_MCA_ess_base_jobid",
                           "OMPI_MCA_orte_hnp_uri"}) {
    EXPECT_EQ(std::getenv(name), nullptr) << name;
  }
  for (const auto& [name, value] : settings) EXPECT_STREQ(std::getenv(name.c_str()), value.c_str());
}

}  // namespace
}  // namespace moe::mpi_job_test
