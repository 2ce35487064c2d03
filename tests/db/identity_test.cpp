#include "db/identity.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace db::identity_test {
namespace {

TEST(Identity, TheSameMachineHasTheSameFingerprint) {
  const auto machine = this_machine();
  EXPECT_EQ(this_machine().fingerprint, machine.fingerprint);
  EXPECT_FALSE(machine.hostname.empty());
  EXPECT_FALSE(machine.os.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory_bytes, 1 << 20);
}

TEST(Identity, AnotherLibraryMakesAnotherFingerprint) {
  MachineParts parts;
  parts.libraries["oneDNN"] = "2.6.3";
  const auto before = this_machine(parts);
  EXPECT_EQ(before.libraries_json, R"({"oneDNN":"2.6.3"})");
  parts.libraries["oneDNN"] = "3.0.0";
  EXPECT_NE(this_machine(parts).fingerprint, before.fingerprint);
}

TEST(Identity, StoresOnlyListedVariablesAndNoSecrets) {
  const auto json = nlohmann::json::parse(listed_environment_json(
      {"OMP_NUM_THREADS=2", "NCCL_DEBUG=INFO", "CUDA_VISIBLE_DEVICES=0,1",
       "OMPI_MCA_btl=self,vader", "HOME=/root", "AWS_SECRET_ACCESS_KEY=x", "NCCL_API_TOKEN=x",
       "OMPI_MCA_orte_precondition_transports=x", "PATH=/bin", "broken", "OMP_EMPTY="}));
  EXPECT_EQ(json, nlohmann::json::parse(R"({"OMP_NUM_THREADS": "2", "NCCL_DEBUG": "INFO",
      "CUDA_VISIBLE_DEVICES": "0,1", "OMPI_MCA_btl": "self,vader", "OMP_EMPTY": ""})"));
}

TEST(Identity, RunKnowsItsCommandLineAndBuild) {
  const char* const argv[] = {"moe-train", "--model", "a \"b\""};
  const auto run = this_run("train", "tiny", 3, argv);
  EXPECT_EQ(nlohmann::json::parse(run.argv_json)[2], "a \"b\"");
  EXPECT_FALSE(run.revision.empty());
  EXPECT_GT(run.pid, 0);
  EXPECT_EQ(run.status, "running");
}

TEST(Identity, TextThatIsNotUtf8IsStillJson) {
  EXPECT_TRUE(nlohmann::json::accept(listed_environment_json({"OMP_X=\xff\xfe"})));
}

}  // namespace
}  // namespace db::identity_test
