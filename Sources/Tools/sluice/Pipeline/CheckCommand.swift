import Pipeline
import Platform
import Scheduler
import Workbench

/// `sluice check`: what a pipeline says of files. Nothing is recorded, and nothing kept.
struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "check", abstract: "Say whether a pipeline passes files, and keep nothing.", arguments: "FILE…",
    discussion: """
      Each FILE goes through the line of the pipeline, without the stages that store, in workers under the sandbox;
      `-` is standard input. No home is needed, and no channel is told. A file is clean where every stage passes it, found
      where one rejects it or its content takes workers down, and unknown where that could not be decided. The exit code
      is 0 if all are clean, 75 if some are unknown and none was found, 2 if there is no such file, and else 1.
      """,
    options: [
      CommandOption(
        name: "timeout", value: "DURATION", help: "For each file, such as 500ms or 30s; else 2m."),
      CommandOption(name: "quiet", letter: "q", help: "Print only the files that are not clean."),
      .config, .trust, .format, .noColor,
    ],
    example: "sluice check --config mail.yaml invoice.pdf photo.jpg")

  private let arguments: ParsedArguments
  private let patience: Int64

  init(_ arguments: ParsedArguments) throws(CommandError) {
    if arguments.words.isEmpty { throw .usage("`sluice check` needs a FILE; `-` is standard input") }
    self.arguments = arguments
    patience =
      try arguments.value("timeout").map { text throws(CommandError) in
        guard let time = Interval(text)?.milliseconds, (1...86_400_000).contains(time) else {
          throw .usage("option '--timeout' is a duration such as 500ms, 30s or 5m, not '\(text)'")
        }
        return time
      } ?? Check.usualPatience
  }

  /// Files that are under way at once, at most: each holds a descriptor.
  private static let window = 64

  func run() throws -> ExitCode {
    let pipelineFile = try Environment.pipelineFile(arguments, mayBeBuiltIn: true)
    let pipeline = try Environment.pipeline(file: pipelineFile, home: nil, isStart: true)
    if pipelineFile == BuiltInPipeline.name && !arguments.flag("quiet") {
      Terminal.error(
        "there is no pipeline.yaml here: \(pipelineFile) judges; name another with --config FILE")
    }
    if pipeline.definition.judging.stages.isEmpty {
      Terminal.error(
        "no stage of \(pipelineFile) judges, so that each content is clean; add one such as mime, size or scan"
      )
    }
    let checker = try Checker(
      pipeline.definition, digest: pipeline.digest, executable: pipeline.search.worker
    ) { _ in }  // Each file says so.
    defer { checker.stop() }
    let style = Style(arguments)
    let answers = Answers()
    var verdicts: Set<CheckVerdict> = []
    var hasMissing = false
    func tell(_ index: Int) {
      let result = answers.wait(for: index)
      verdicts.insert(result.verdict)
      if arguments.flag("quiet") && result.verdict == .clean { return }
      let file = arguments.words[index]
      Terminal.out(arguments.isJSON ? Self.json(file, result) : Self.text(file, result, style))
    }
    for ((index, file), path) in zip(arguments.words.enumerated(), ArgumentBytes.of(arguments.words)) {
      if index >= Self.window { tell(index - Self.window) }
      do throws(Content.Problem) {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        checker.check(Check(try Content(path: path).share(), fileName: name, patience: patience)) {
          answers.add($0, index)
        }
      } catch {
        // To try that again, as 75 asks for, would never end.
        if ["missing", "not-a-file"].contains(error.code) { hasMissing = true }
        answers.add(
          CheckResult(.unknown, Reason(stage: "source", code: error.code, message: error.message)), index)
      }
    }
    let count = arguments.words.count
    for index in max(count - Self.window, 0)..<count { tell(index) }
    if verdicts.contains(.found) { return .incomplete }
    if hasMissing { return .usage }
    return verdicts.contains(.unknown) ? .temporary : .success
  }

  private static func text(_ file: String, _ result: CheckResult, _ style: Style) -> String {
    var parts = [style.word(result.verdict.rawValue, width: 7), Terminal.printable(file)]
    if let mediaType = result.mediaType { parts.append(Terminal.printable(mediaType)) }
    if let size = result.sizeBytes { parts.append(ByteSize.rounded(size)) }
    if let reason = result.reason {
      parts.append("(\(reason.stage): \(RecordText.reason(reason.code, reason.message)))")
    }
    return parts.joined(separator: "  ") + "\n"
  }

  private static func json(_ file: String, _ result: CheckResult) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "check")
      writer.member("file", file)
      result.write(to: &writer)
    }
    return writer.text + "\n"
  }
}

/// Results that come from another thread, by the place of their file. Used by the thread of the command, but for ``add(_:_:)``.
private final class Answers: @unchecked Sendable {
  private let arrived = Mailbox<(index: Int, result: CheckResult)>(capacity: .max)
  /// Unchecked because one thread alone waits.
  private var results: [Int: CheckResult] = [:]

  func add(_ result: CheckResult, _ index: Int) { arrived.send((index, result)) }

  func wait(for index: Int) -> CheckResult {
    while true {
      if let result = results.removeValue(forKey: index) { return result }
      for one in arrived.receive() { results[one.index] = one.result }
    }
  }
}
