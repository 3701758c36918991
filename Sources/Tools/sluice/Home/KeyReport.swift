import HomeFolder
import LedgerPort
import LedgerSQLite
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
    /// It is not there, and values that were sealed with it are.
    var isLost = false
    var isOld = false

    fileprivate var state: String {
      if isLost { return "lost" }
      return problem != nil ? "wrong" : isToCome ? "to-come" : "ok"
    }
  }

  var entries: [Entry]
  var disk: DiskEncryption
  var home: String

  /// Looks at the keys, and makes none.
  ///
  /// - Parameter sealed: what the ledger holds that was sealed; `nil`: nothing, or there is no ledger.
  init(_ rules: SecretRules, home: Home, sealed: SealedLinks?, environment: [String: String]) {
    self.home = home.path
    disk = DiskEncryption.of(home.path)
    var current = Self.entry(rules.key.flatMap(KeySource.init), home.path, environment)
    if current.isToCome, let sealed {
      (current.isToCome, current.isLost) = (false, true)
      current.problem = sealed.problem(without: current.origin)
    }
    if current.problem == nil, sealed != nil {
      current.problem = try? HomeKey.problem(home, rules, environment: environment)
    }
    entries = [current]
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
        if entry.isToCome {
          " (not there yet; it is made when something is sealed first)"
        } else if entry.isLost {
          " (lost)"
        } else {
          entry.isOld ? " (old)" : ""
        }
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
          writer.member("state", entry.state)
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

/// The links that a ledger holds sealed.
struct SealedLinks {
  /// Of those to be fetched still.
  var waiting: Int64

  /// `nil`: there are none, or the ledger cannot be read, of which `sluice verify` tells.
  init?(_ home: Home) {
    guard !Environment.lacksLedger(home), let ledger = try? home.reader(),
      let page = try? ledger.transfers(after: nil, limit: 1), !page.rows.isEmpty
    else { return nil }
    let lane = (try? ledger.status())?.lanes.first { $0.name == .downloads }
    waiting = lane.map { Int64($0.jobs) } ?? 0
  }

  /// What the loss of the key means, and what to do.
  fileprivate func problem(without path: String) -> String {
    let links =
      waiting == 0
      ? "no link waits to be fetched"
      : "\(Count.text(waiting, "link")) that \(waiting == 1 ? "waits" : "wait") to be fetched cannot be opened"
    return
      "the key \(path) is lost: it was there when links were sealed. Without it \(links), and no new link can be taken in; "
      + "what was stored is as it was. Put the key back from where you keep a copy, or name it in the pipeline file: "
      + "'secrets: { key: file:/path }'. Without a copy: `sluice reset downloads` takes the links back; then put a new key in its place, "
      + "and fetch what is still wanted"
  }
}
