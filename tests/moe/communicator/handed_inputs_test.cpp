#include "moe/communicator/handed_inputs.h"

#include <gmock/gmock.h>

#include <string>

#include "moe/errors.h"

namespace moe::handed_inputs_test {
namespace {

TEST(HandedInputs, ArriveAsTheyAre) {
  for (const std::string text : {"", "one line", "two\nlines\n"}) {
    const HandedInputs inputs =
        handed_inputs(to_text(HandedInputs{"rank 0 (n0)", "build 7", text}));
    EXPECT_EQ(inputs.reader, "rank 0 (n0)");
    EXPECT_EQ(inputs.build, "build 7");
    EXPECT_EQ(inputs.text, text);
  }
}

TEST(HandedInputs, CutShortOrOfAnotherKindAreRefused) {
  const std::string whole = to_text(HandedInputs{"rank 0 (n0)", "build 7", "text"});
  for (const std::string& wrong : {std::string(), std::string("hello\n"), whole + "x",
                                   whole.substr(0, whole.size() - 1), whole.substr(0, 5)}) {
    try {
      handed_inputs(wrong);
      FAIL() << wrong;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("stdin of rank 0 has " +
                                                   std::to_string(wrong.size()) + " bytes"));
    }
  }
}

}  // namespace
}  // namespace moe::handed_inputs_test
