import Ledger
import Pipeline
import Platform
import Sealing

/// What `sluice doctor` says of a home's keys, and of the disk below it.
struct KeyReport {
  struct Entry {
    /// Where it lies: `/var/lib/sluice/sluice.key`, `credential 'sluice-key'`.
    var origin: String
    var problem: String?
    var warning: String?
    /// It is made when it is needed first.
    var isToCome = false
    var isOld = false
  }

  var entries: [Entry]
  var disk: DiskEncryption
  var home: String

  /// Looks at the keys, and makes none.
  init(_ rules: SecretRules, home: Home, environment: [String: String]) {
    self.home = home.path
    disk = DiskEncryption.of(home.path)
    entries = [Self.entry(rules.key.flatMap(KeySource.init), home.path, environment)]
    entries += rules.old.compactMap(KeySource.init).map { source in
      var entry = Self.entry(source, home.path, environment)
      entry.isOld = true
      return entry
    }
  }

  private static func entry(_ source: KeySource?, _ home: String, _ environment: [String: String]) -> Entry {
    let origin = source?.description ?? FoundKey.usualPath(home: home)
    if source == nil && !FoundKey.isThere(home: home) { return Entry(origin: origin, isToCome: true) }
    do throws(SealingError) {
      let found = try FoundKey.find(source, home: home, makesKey: false, environment: environment)
      return Entry(origin: origin, warning: found.warning)
    } catch {
      return Entry(origin: origin, problem: error.description)
    }
  }

  var problems: [String] { entries.compactMap(\.problem) }

  func text(_ style: Style) -> String {
    var text = "Secrets in \(Terminal.printable(home)) are sealed with\n"
    for entry in entries {
      let word = style.word(entry.problem == nil ? "ok" : "wrong", width: 7)
      let note =
        entry.isToCome
        ? " (not there yet; it is made when something is sealed first)" : entry.isOld ? " (old)" : ""
      text += "  \(word)  \(Terminal.printable(entry.origin))\(note)\n"
      if let warning = entry.warning { text += "           \(Terminal.printable(warning))\n" }
    }
    return text + "The disk of this home: \(Terminal.printable(disk.description))\n\n"
  }

  func write(to writer: inout JSONWriter) {
    writer.key("keys")
    writer.array { writer in
      for entry in entries {
        writer.object { writer in
          writer.member("source", entry.origin)
          writer.member("state", entry.problem != nil ? "wrong" : entry.isToCome ? "to-come" : "ok")
          writer.key("old")
          writer.value(entry.isOld)
          writer.member("warning", entry.warning)
        }
      }
    }
    writer.key("disk")
    writer.object { writer in
      writer.member("encryption", disk.name)
      writer.member("detail", disk.description)
    }
  }
}
