#include "tuner/scenario/shipped.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuner::shipped_test {
namespace {

TEST(Shipped, AFileIsToldByTheFirstSentenceOfItsComment) {
  EXPECT_EQ(first_sentence("# Four nodes of 0.75 Gbit/s,\n# made here. More.\n\nname = 1\n"),
            "Four nodes of 0.75 Gbit/s, made here");
  EXPECT_EQ(first_sentence("# Betas of Fig. 5.\n"), "Betas of Fig. 5");
  EXPECT_EQ(first_sentence("# All of it\n#\n# Not this\n"), "All of it");
  EXPECT_EQ(first_sentence("name = \"x\"\n# Too late.\n"), "");
}

TEST(Shipped, EveryFileSaysWhatItIs) {
  for (const auto& files : {shipped_models(), shipped_clusters()}) {
    EXPECT_GT(files.size(), 5u);
    for (const ShippedFile& file : files) EXPECT_NE(file.about, "") << file.path;
  }
}

}  // namespace
}  // namespace tuner::shipped_test
