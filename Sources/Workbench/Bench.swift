import CPlatform
import Glibc
import Pipeline
import Platform
import Wire
import Workers

/// One stage in its worker, with the steps a pipeline adds around it: content is measured before, and new
/// content is taken over after.
public final class Bench {
  public let runner: StageRunner
  private let digest: StageRunner

  /// - Parameter digest: the stage that measures content.
  public init(runner: StageRunner, digest: StageRunner) {
    self.runner = runner
    self.digest = digest
  }

  /// Runs a trial through the stage.
  ///
  /// - Parameter instance: which of the stage's instances in the worker.
  /// - Throws: ``WorkbenchError`` if the stage does not open or the user interrupts.
  public func run(_ trial: Trial, instance: Int = 0) throws -> TrialResult {
    var trial = trial
    if let content = trial.content {
      trial.work.file = content.file
      if trial.work.sha256 == nil && runner.stage.description.id != digest.stage.description.id {
        do {
          trial.work.sha256 = try measure(content)
        } catch let error as Content.Problem {
          var result = TrialResult(verdict: Verdict.fail.name)
          (result.code, result.message) = (error.code, error.message)
          return result
        }
      }
    }
    // The time to start a worker does not count.
    try runner.start()
    var descriptors = trial.content.map { [$0.descriptor.number] } ?? []
    var output: Int32 = -1
    if trial.content != nil && runner.stage.description.produces {
      output = try Content.memory().release()
      descriptors.append(output)
      trial.work.takes.insert(.content)
    }
    defer { if output >= 0 { close(output) } }
    let pieceFile = try Self.pieceFile()
    if trial.content != nil && runner.stage.description.leavesPieces {
      descriptors.append(pieceFile.number)
      trial.work.takes.insert(.pieces)
      trial.work.room = ChildRoom(contents: Int64(Piece.mostChildren), bytes: .max)
    }
    let start = Clock.monotonic()
    switch try runner.run(trial.work, descriptors: descriptors, instance: instance) {
    case .died(let death):
      var result = TrialResult(verdict: death.verdict)
      result.code = death.code
      result.message = death.message(in: runner.stage)
      result.death = death
      result.microseconds = Int64((Clock.monotonic() - start) / 1000)
      result.trace = runner.trace
      return result
    case .answered(let answer):
      var result = self.result(answer, trial)
      do {
        result.pieces = try pieces(of: answer.report, in: pieceFile)
      } catch let error as FrameError {
        result.verdict = Verdict.fail.name
        (result.code, result.message) = ("invalid-reply", "\(error)")
      }
      if answer.report.produced, output >= 0 {
        if sluice_seal(output) != 0 { throw WorkbenchError(.system, "\(SystemError("sealing new content"))") }
        let content = try Content(Descriptor(owning: output))
        output = -1
        result.produced = .init(content: content, sha256: try measure(content))
      }
      return result
    }
  }

  func result(_ answer: WorkResult, _ trial: Trial) -> TrialResult {
    guard let said = answer.report.results.first else {
      // Its `when` does not hold.
      var result = TrialResult(verdict: "skipped")
      result.mediaType = trial.work.mediaType
      return result
    }
    var result = TrialResult(verdict: said.verdict.name)
    (result.code, result.message) = (said.code, said.message)
    result.microseconds = said.microseconds
    (result.retryAfter, result.pausesLane) = (said.retryAfter, said.pausesLane)
    result.mediaType = answer.report.mediaType ?? trial.work.mediaType
    result.metadata = answer.report.metadata
    result.emissions = answer.report.emissions
    result.location = answer.report.location
    result.trace = runner.trace
    return result
  }

  /// The SHA-256 of content, measured as the pipeline does.
  ///
  /// - Throws: ``Content/Problem`` if the content cannot be measured; ``WorkbenchError`` if the user interrupts, or the
  ///   worker does not start, which says nothing of the content.
  public func measure(_ content: Content) throws -> String {
    var trial = Trial(fileName: "content", content: content)
    trial.work.file = content.file
    switch try digest.run(trial.work, descriptors: [content.descriptor.number]) {
    case .answered(let answer):
      if let sha256 = answer.report.metadata.first(where: { $0.key == "sha256" })?.value.text {
        return sha256
      }
      let said = answer.report.results.first
      throw Content.Problem(
        code: said?.code ?? "unreadable", message: said?.message ?? "the content was not measured")
    case .died(let death):
      throw Content.Problem(code: death.code, message: death.message(in: digest.stage))
    }
  }
}
