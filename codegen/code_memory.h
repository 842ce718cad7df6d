// Memory for machine code and its data: that of many programs lies in one mapping, of which a process may
// have only so many (65,530 by default).
//
//     arena    [ code: whole pages per program | data: one program's after the other's ]
//
// An arena begins as one private mapping. Neighbouring pages that may be used in the same way stay one
// mapping to the machine, so an arena takes two or three, however many programs come and go. A page holds the
// code of one program only and is never writable and executable at once; a child process that was forked has
// its own copy.
#pragma once

#include <cstddef>

namespace weld {

struct CodeArena;

/// Room for one program.
class CodeMemory {
  public:
    /// Writable; what was there before is still there. Throws std::bad_alloc. `data_align` is a power of two.
    CodeMemory(std::size_t code_bytes, std::size_t data_bytes, std::size_t data_align);
    CodeMemory(const CodeMemory&) = delete;
    CodeMemory& operator=(const CodeMemory&) = delete;
    ~CodeMemory();

    char* code() const { return code_; }
    char* data() const { return data_; }
    /// The code may be run from now on, and written to no longer. Throws std::bad_alloc.
    void make_executable();

  private:
    bool take_from(CodeArena* arena);
    void give_back();

    CodeArena* arena_ = nullptr;
    char *code_ = nullptr, *data_ = nullptr;
    std::size_t code_bytes_, data_bytes_;
    char* data_taken_ = nullptr;  ///< where the room begins that `data_` lies aligned in
};

}  // namespace weld
