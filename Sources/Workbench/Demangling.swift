import CPlatform
import Glibc

/// The names of Swift's functions, as people write them.
enum Demangling {
  /// The name without its module and its types, such as `Greeting.process`.
  static func text(_ name: String) -> String {
    guard name.hasPrefix("$s"), let full = swift_demangle(name, name.utf8.count, nil, nil, 0) else {
      return name
    }
    defer { free(full) }
    return short(String(cString: full))
  }

  static func short(_ full: String) -> String {
    var text = full[...]
    // What the optimizer made of a function is told as that function.
    while text.hasPrefix("function signature ") || text.hasPrefix("generic "),
      let of = text.firstRange(of: "> of ")
    {
      text = text[of.upperBound...]
    }
    var prefix = ""
    if text.hasPrefix("closure #"), let place = text.firstRange(of: " in ") {
      prefix = "closure in "
      text = text[place.upperBound...]
    }
    for word in ["static ", "protocol witness for "] where text.hasPrefix(word) {
      text = text.dropFirst(word.count)
    }
    // A private name is `(crash in _C9D9A27E)`.
    var name = ""
    while let letter = text.first, !(letter == "(" && text.firstRange(of: " in _") == nil) {
      if letter == "(", let hash = text.firstRange(of: " in _"), let end = text.firstRange(of: ")") {
        guard hash.lowerBound < end.lowerBound else { break }
        name += text[text.index(after: text.startIndex)..<hash.lowerBound]
        text = text[end.upperBound...]
      } else {
        name.append(letter)
        text = text.dropFirst()
      }
    }
    let parts = name.split(separator: ".")
    return prefix + (parts.count > 1 ? parts.dropFirst().joined(separator: ".") : name).prefix(200)
  }
}
