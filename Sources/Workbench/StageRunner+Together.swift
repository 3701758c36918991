import Pipeline
import Platform
import Wire
import Workers

// Several pieces of work at once, for a stage that turns: they end in any order.
extension StageRunner {
  /// Gives the worker all of these, and waits until each is answered, or the worker ends.
  ///
  /// - Returns: the answers in the order of the work, and how the worker ended, if it did.
  func runTogether(
    _ works: [(work: Work, descriptors: [Int32])]
  ) throws(WorkbenchError) -> (answers: [WorkResult?], death: WorkerDeath?) {
    try start()
    guard let process else { throw WorkbenchError(.system, "there is no worker") }
    forgetTrace()
    process.resetFlood()
    var places: [UInt64: Int] = [:]
    for (place, (work, descriptors)) in works.enumerated() {
      var work = work
      (work.serial, work.first, work.end) = (nextSerial(), 0, 1)
      places[work.serial] = place
      _ = process.give(work, descriptors: descriptors)  // if the worker is gone, the code below notices
    }
    var answers = [WorkResult?](repeating: nil, count: works.count)
    while !places.isEmpty {
      switch try next(of: process, within: stage.timeout) {
      case .message(.result(let result))?:
        guard let place = places.removeValue(forKey: result.serial) else {
          return (answers, condemn(.invalidReply("a result for work it was not given")))
        }
        answers[place] = result
      case .message(.invalid(let text))?: return (answers, condemn(.invalidReply(text)))
      case .message?: return (answers, condemn(.invalidReply("an answer to no question")))
      case .death(let death)?:
        self.process = nil
        return (answers, death)
      case nil: return (answers, condemn(.timedOut(afterMilliseconds: stage.timeout)))
      }
    }
    return (answers, nil)
  }
}
