// weld.compile.dumpCode.
#include "api.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

using namespace test;

namespace {

class Folder {
  public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "weld-dump-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()));
        path = name;
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::set<std::string> files() const {
        std::set<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(path))
            names.insert(entry.path().filename());
        return names;
    }
    std::string text(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(path / name).rdbuf();
        return text.str();
    }
    std::filesystem::path path;
};

const char* const kProgram =
    "|v: vec[f64]| result(for(map(v, |x| x * 2.0), merger[f64,+], |b, i, x| merge(b, x)))";

}  // namespace

TEST_CASE("all stages") {
    const Folder folder;
    compile(kProgram, {{"weld.compile.dumpCode", "true"},
                       {"weld.compile.dumpCodeDir", folder.path.c_str()},
                       {"weld.compile.dumpCodeFilename", "x"}});
    CHECK(folder.files() ==
          std::set<std::string>{"x.weld", "x-opt.weld", "x.sir", "x.ll", "x-opt.ll", "x.S"});
    CHECK(folder.text("x.weld").find("appender") != std::string::npos);
    CHECK(folder.text("x-opt.weld").find("appender") == std::string::npos);  // fused
    CHECK(folder.text("x.sir").find("simditer") != std::string::npos);
    CHECK(folder.text("x.ll").find("define") != std::string::npos);
    CHECK(folder.text("x-opt.ll").find("define") != std::string::npos);
    CHECK(folder.text("x-opt.ll") != folder.text("x.ll"));
    CHECK(folder.text("x.S").find("weld_main") != std::string::npos);
}

TEST_CASE("chosen stages, and a name made up") {
    const Folder folder;
    compile(kProgram, {{"weld.compile.dumpCode", "true"},
                       {"weld.compile.dumpCodeDir", folder.path.c_str()},
                       {"weld.compile.dumpCodeFormats", "weldopt"}});
    const std::set<std::string> files = folder.files();
    REQUIRE(files.size() == 1);
    CHECK(files.begin()->find("code-") == 0);
    CHECK(files.begin()->ends_with("-opt.weld"));
}

TEST_CASE("a file that is there stays, a folder that is not there is no failure") {
    const Folder folder;
    std::ofstream(folder.path / "x.weld") << "mine";
    compile(kProgram, {{"weld.compile.dumpCode", "true"},
                       {"weld.compile.dumpCodeDir", folder.path.c_str()},
                       {"weld.compile.dumpCodeFilename", "x"},
                       {"weld.compile.dumpCodeFormats", "weld"}});
    CHECK(folder.text("x.weld") == "mine");
    compile(kProgram, {{"weld.compile.dumpCode", "true"}, {"weld.compile.dumpCodeDir", "/nowhere"}});
}
