import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Objects
import Pipeline
import Platform

/// `sluice verify`: whether ledger and store are whole and agree.
struct Verify: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "verify", abstract: "Check the ledger and every stored object, and repair them.",
    discussion: """
      The ledger's file and rows are checked, each object is hashed and compared with its row, and the store is searched
      for what has no row. It reads beside an ingest at work. The exit code is 1 if anything is found.

      With --repair, while no ingest is at work, objects get the path they wait for; what has no row is moved to
      lost+found below the home; counts are made anew; an attachment whose object is missing or damaged is queued again
      if its source is unchanged, and the next ingest stores it. Files of uploads that are not needed any more are
      deleted, and nothing else. The exit code is 1 if anything remains. A ledger whose file is damaged is left alone:
      restore a backup.
      """,
    options: [
      CommandOption(name: "repair", help: "Put right what can be."),
      CommandOption(
        name: "sample", value: "N", help: "Hash only so many objects, chosen at random; measure all."),
      .home, .format, .quiet, .noColor,
    ],
    example: "sluice verify --home /var/lib/sluice")

  private let arguments: ParsedArguments
  private let sample: Int64?

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try arguments.expectNoWords()
    self.arguments = arguments
    sample = try arguments.integer("sample")
    if let sample, sample < 0 { throw .usage("option '--sample' is 0 or more, not \(sample)") }
  }

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    let repairs = arguments.flag("repair")
    var report = VerifyReport(arguments)
    let started = Clock.monotonic()
    do {
      let ledger = try Environment.ledger(reading: home)
      let lock = repairs ? try home.lock() : nil
      defer { withExtendedLifetime(lock) {} }
      var isWhole = true
      try ledger.inspectFile { finding in
        isWhole = false
        report.take(finding)
      }
      if isWhole {
        try verify(home, repairs ? try home.join() : ledger, &report)
      } else {
        report.note(
          "the store is not compared with a ledger that is damaged"
            + (repairs ? ", and nothing is repaired" : ""))
      }
    } catch let error as LedgerError where error.code == .damaged {
      report.take(
        Finding(
          "ledger-damaged", "sluice.db", error.description, remedy: "do what that says, then verify again"))
    }
    return report.finish(seconds: Double(Clock.monotonic() - started) / 1e9, isRepair: repairs)
  }

  private func verify(_ home: Home, _ ledger: any LedgerMaintenance, _ report: inout VerifyReport) throws {
    let total = try ledger.status().attachments.first { $0.status == .completed }?.count ?? 0
    // An escaping closure cannot capture an inout parameter.
    var inner = report
    inner.begin(total: total)
    defer { report = inner }
    let verification = try Verification(home, ledger, repairs: arguments.flag("repair"), sample: sample) {
      event in
      switch event {
      case .found(let finding): inner.take(finding)
      case .looked(let bytes): inner.looked(bytes)
      }
    }
    inner.totals = try verification.run()
    inner.sealed = try ledger.sealedRows()
  }
}
