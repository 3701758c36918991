import Glibc

/// A new stage's name in the forms that its sources need.
struct StageName {
  /// As pipelines have it: `virus-list`.
  let id: String
  /// As the exported function has it: `virus_list`.
  let symbol: String
  /// As a type: `VirusList`.
  let type: String

  init(_ text: String) throws(CommandError) {
    let words = text.split(separator: "-", omittingEmptySubsequences: false)
    let isName = words.allSatisfy { word in
      !word.isEmpty && word.utf8.allSatisfy { Self.letters.contains($0) || Self.digits.contains($0) }
    }
    guard isName, let first = text.utf8.first, Self.letters.contains(first), text.utf8.count <= 40 else {
      throw .usage(
        "'\(Terminal.printable(text))' is no name for a stage: it has lower case letters, digits and '-', begins with a "
          + "letter, and has at most 40 of them")
    }
    id = text
    symbol = words.joined(separator: "_")
    type = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }

  private static let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
  private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
}

/// What a new stage is an example of: a folder of templates.
enum StageKind: String, CaseIterable {
  case content, store, network, end, channel, source

  /// - Parameters: the values of `--role` and `--capability`; `nil`: not given.
  init(role: String?, capability: String?) throws(CommandError) {
    switch role ?? "line" {
    case "line": self = StageKind(rawValue: capability ?? "content") ?? .content
    case let role:
      self = role == "end" ? .end : role == "source" ? .source : .channel
      let own = self == .source ? "network" : "content"
      guard capability ?? own == own else {
        throw .usage(
          "the example of --role \(role) has capability \(own); leave --capability out\(self == .source ? "" : ", and change it in the source")"
        )
      }
    }
  }

  static let roles = ["line", "end", "channel", "source"]

  /// A link that the example fetches; `nil`: it fetches none.
  var link: String? { self == .source ? "https://lines.example/1000000" : nil }
}

/// The template files of a new stage: a working stage called `greeting`, with names and paths filled in.
struct StageTemplate {
  private let name: StageName
  private let share: String
  /// The path of the plugin to be built, relative to the stage's folder.
  var plugin = ""
  var plugins = ""
  var reference = ""
  /// What `sluice stages check` is told beside the plugin and its documentation.
  var checked = ""

  /// - Parameter share: the absolute path of the installation's share/sluice.
  init(_ name: StageName, share: String) {
    self.name = name
    self.share = share
  }

  func text(_ file: String) throws(CommandError) -> String {
    let bytes = try Environment.contents(of: "\(share)/templates/\(file)")
    return Self.filled(
      String(decoding: bytes, as: UTF8.self),
      [
        ("@REFERENCE@\n", reference), ("@SHARE@", share), ("@INCLUDE@", include), ("@PLUGIN@", plugin),
        ("@PLUGINS@", plugins), ("@CHECKED@", checked),
        ("greeting_stage", "\(name.symbol)_stage"),
        ("libsluice-greeting", "libsluice-\(name.id)"),
        ("Greeting", name.type), ("greeting.c", "\(name.id).c"),
        ("greeting.py", "\(name.id).py"), ("greeting.sh", "\(name.id).sh"),
        ("id: greeting", "id: \(name.id)"),
        ("\n  greeting.", "\n  \(name.id)."), ("\"greeting", "\"\(name.id)"),
        ("`greeting", "`\(name.id)"),
        ("use: greeting", "use: \(name.id)"), ("{ greeting.", "{ \(name.id)."),
        ("# greeting", "# \(name.id)"),
        ("sluice-greeting", "sluice-\(name.id)"), ("greeting", name.symbol),
      ])
  }

  /// The header's folder, beside share/.
  private var include: String {
    guard let path = realpath("\(share)/../../include", nil) else { return "\(share)/../../include" }
    defer { free(path) }
    return String(cString: path)
  }

  /// The text with each placeholder replaced; where several match, the first counts. What was filled in is not looked at
  /// again: a name may hold a placeholder.
  private static func filled(_ text: String, _ values: [(placeholder: String, value: String)]) -> String {
    var result = ""
    var rest = Substring(text)
    while let letter = rest.first {
      if let match = values.first(where: { rest.hasPrefix($0.placeholder) }) {
        result += match.value
        rest = rest.dropFirst(match.placeholder.count)
      } else {
        result.append(letter)
        rest = rest.dropFirst()
      }
    }
    return result
  }
}
