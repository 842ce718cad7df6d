// Programs that go on where another one has ended: scripts whose rest can be read only when some values are
// known, and the entries of an interactive session.
#pragma once

#include <memory>
#include <string>

namespace weld {

/// What a program leaves for the next one: names with what is known of their values, which are the fields of
/// its result in order, and the parameters of the next program.
class Environment {
  public:
    virtual ~Environment() = default;
    /// The next program is the rest of the same text.
    virtual bool goes_on() const = 0;
    /// The same with what is known when the program has given `values`, its result.
    virtual std::shared_ptr<const Environment> with(const void* values) const = 0;
    /// All of it, from which its language makes an equal one (Language::read_environment). Programs that go
    /// on from equal ones are the same.
    virtual std::string text() const = 0;
};

}  // namespace weld
