import Configuration
import Platform
import Workbench

/// What `sluice test` prints, case by case.
struct CaseReport {
  private(set) var count = 0
  private(set) var failures = 0
  private let format: String
  private let style: Style
  private var file = ""
  private var milliseconds = 0.0
  /// JUnit elements, collected because JUnit states the number of cases first.
  private var elements: [String] = []
  private let start = Clock.monotonic()

  init(format: String, style: Style) {
    self.format = format
    self.style = style
  }

  mutating func begin(_ file: String) {
    self.file = file
    if format == "text" { Terminal.out("\(Terminal.printable(file))\n") }
  }

  mutating func add(_ one: Case, _ found: Found, _ mismatches: [Mismatch]) {
    count += 1
    milliseconds += found.milliseconds
    if !mismatches.isEmpty { failures += 1 }
    switch format {
    case "json": Terminal.out(json(one, found, mismatches))
    case "junit": elements.append(junit(one, found, mismatches))
    default: Terminal.out(text(one, found, mismatches))
    }
  }

  mutating func end() {
    let seconds = Double((Clock.monotonic() - start) / 1_000_000) / 1000
    switch format {
    case "json":
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", "summary")
        writer.member("cases", Int64(count))
        writer.member("failures", Int64(failures))
        writer.key("seconds")
        writer.value(seconds)
      }
      Terminal.out(writer.text + "\n")
    case "junit":
      Terminal.out(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
          + "  <testsuite name=\"sluice\" tests=\"\(count)\" failures=\"\(failures)\" time=\"\(seconds)\">\n"
          + elements.joined() + "  </testsuite>\n</testsuites>\n")
    default:
      let verdict = failures == 0 ? "all as expected" : "\(failures) not as expected"
      Terminal.out("\n\(Count.text(count, "case")), \(verdict); \(Decimal.text(seconds, 2)) s\n")
    }
  }

  // MARK: For people

  private func text(_ one: Case, _ found: Found, _ mismatches: [Mismatch]) -> String {
    let word = style.word(mismatches.isEmpty ? "ok" : "wrong", width: 5)
    var text =
      "  \(word)  \(Terminal.printable(one.name))  \(style.faint("\(Decimal.text(found.milliseconds, 1)) ms"))\n"
    for mismatch in mismatches {
      let place = "\(Terminal.printable(file)):\(mismatch.line): \(mismatch.key)"
      text += "         \(place)\n"
      // Why options are refused may be several problems, a line each. In other texts a line break is the stage's.
      let isList = found.refused != nil
      text += Self.column("           expected  ", mismatch.expected, isList)
      text += Self.column("           found     ", mismatch.found, isList)
    }
    return text
  }

  /// A text behind its head; a list has its other lines below.
  private static func column(_ head: String, _ text: String, _ isList: Bool) -> String {
    guard isList else { return head + Terminal.printable(text) + "\n" }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(20)
    let indent = String(repeating: " ", count: head.count)
    return lines.enumerated().map { ($0 == 0 ? head : indent) + Terminal.printable(String($1)) + "\n" }
      .joined()
  }

  // MARK: For programs

  private func json(_ one: Case, _ found: Found, _ mismatches: [Mismatch]) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "case")
      writer.member("file", file)
      writer.member("line", Int64(one.line))
      writer.member("name", one.name)
      writer.key("ok")
      writer.value(mismatches.isEmpty)
      writer.key("milliseconds")
      writer.value(found.milliseconds)
      writer.key("mismatches")
      writer.array { writer in
        for mismatch in mismatches {
          writer.object { writer in
            writer.member("key", mismatch.key)
            writer.member("line", Int64(mismatch.line))
            writer.member("expected", mismatch.expected)
            writer.member("found", mismatch.found)
          }
        }
      }
    }
    return writer.text + "\n"
  }

  private func junit(_ one: Case, _ found: Found, _ mismatches: [Mismatch]) -> String {
    let head =
      "    <testcase classname=\"\(Self.escaped(file))\" name=\"\(Self.escaped(one.name))\" "
      + "time=\"\(Decimal.text(found.milliseconds / 1000, 6))\""
    if mismatches.isEmpty { return head + "/>\n" }
    let texts = mismatches.map {
      "\($0.key): expected \(Self.escaped($0.expected)), found \(Self.escaped($0.found))"
    }
    let lines = zip(mismatches, texts).map { "\(Self.escaped(file)):\($0.line): \($1)" }
    return head
      + ">\n      <failure message=\"\(texts[0])\">\(lines.joined(separator: "\n"))</failure>\n    </testcase>\n"
  }

  /// A printable text, escaped for XML. Characters that XML 1.0 does not allow become U+FFFD.
  private static func escaped(_ text: String) -> String {
    var safe = ""
    for scalar in Terminal.printable(text).unicodeScalars {
      switch scalar {
      case "&": safe += "&amp;"
      case "<": safe += "&lt;"
      case ">": safe += "&gt;"
      case "\"": safe += "&quot;"
      default: safe.unicodeScalars.append((0xFFFE...0xFFFF).contains(scalar.value) ? "\u{FFFD}" : scalar)
      }
    }
    return safe
  }
}
