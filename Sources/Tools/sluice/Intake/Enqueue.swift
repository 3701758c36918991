import Control
import Glibc
import Ledger
import Platform

/// `sluice enqueue`: queues files, and leaves the work to a coordinator.
struct Enqueue: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "enqueue", abstract: "Queue files for `sluice run`, or for the next ingest.", arguments: "PATH…",
    discussion: """
      Takes the same input as `sluice ingest`. When it ends with 0, all files are on record, safe from a power cut. A
      running `sluice run` begins with them at once; without one they wait. Lines that come through a pipe are handed
      over as they come. It hands files to a home that is there: without --home and $SLUICE_HOME it makes none.
      """,
    options: [.home] + IntakeArguments.options + [.format, .quiet, .noColor],
    example: "sluice enqueue --conversation c1 --sender anna --participants anna,ben report.pdf")

  private let arguments: ParsedArguments
  private let input: IntakeArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    input = try IntakeArguments(arguments, of: "enqueue")
  }

  func run() throws -> ExitCode {
    let manifest = try input.reader()
    let home = try home()
    let isNew = Environment.lacksLedger(home)
    let desk = try CommandDesk(home)
    if isNew && desk.isAlone && !arguments.flag("quiet") { Terminal.error("made a new home at \(home.path)") }
    var added = 0
    var known = 0
    var problems = 0
    var tally = ProblemTally()
    var failure: (any Error)?
    func tell(_ problem: String) {
      problems += 1
      if tally.admits(line: problem) { Terminal.error(problem) }
    }
    withoutActuallyEscaping(tell) { tell in
      let walker = InputWalker(
        defaults: input.defaults, home: home,
        send: { items in
          do {
            let report = try desk.takeIn(items)
            added += report.added
            known += report.known
            report.problems.forEach(tell)
            return true
          } catch {
            failure = error
            return false
          }
        }, problem: tell)
      if let manifest { walker.read(manifest) } else { walker.walk(input.paths) }
    }
    for line in tally.rest { Terminal.error(line) }
    if arguments.value("format") == "json" {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", "enqueued")
        writer.member("added", Int64(added))
        writer.member("known", Int64(known))
        writer.member("problems", Int64(problems))
      }
      Terminal.out(writer.text + "\n")
    } else if !arguments.flag("quiet") {
      Terminal.out("\(added) queued" + (known > 0 ? ", \(known) known from before" : "") + "\n")
    }
    if let failure { throw failure }
    return problems == 0 ? .success : .incomplete
  }

  /// The home to use: one named by the user, or an existing one. In a wrong folder no home is created.
  private func home() throws(CommandError) -> Home {
    let home = Environment.home(arguments)
    if !Environment.namesHome(arguments) && Environment.lacksLedger(home) && !home.isInUse {
      throw .usage(
        "\(home.path) has no ledger, and enqueue hands files to a home that is there; run `sluice ingest` or `sluice run` "
          + "here once, or name the home with --home DIR")
    }
    return home
  }
}
