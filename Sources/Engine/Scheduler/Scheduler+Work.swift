import Pipeline
import Wire
import Workers

// Results of workers.
extension Scheduler {
  func take(_ outcomes: [WorkerPool.Outcome]) {
    for outcome in outcomes {
      switch outcome {
      case .opened: attachments.measureWaiting()
      case .answered(let flight, let result, let group):
        for remark in result.report.remarks { tell(remark, of: flight, group) }
        line(of: flight)?.apply(result.report, to: flight, from: group)
        pool.endOutput(flight)
      case .died(let flight, let death, let group, let stage, let microseconds, var report):
        // Torn, or a lie: then there is nothing.
        if var said = report { report = flight.takePieces(of: &said, group) == nil ? said : nil }
        line(of: flight)?.workerDied(death, flight, group, stage, microseconds: microseconds, after: report)
        pool.endOutput(flight)
      case .tooLong(let flight): line(of: flight)?.refuse(flight)
      case .untouched(let flight): settle(flight, .released)
      case .takenBack(let flight):
        pool.endOutput(flight)
        attachments.endTakenBack(flight)
      case .changed(let text): observe(.problem(text))
      }
    }
  }

  private func tell(_ remark: Remark, of flight: Flight, _ group: WorkerGroup) {
    observe(
      .remark(
        remark.level, stage: group.stages[remark.index].id, id: flight.delivery?.id ?? flight.attachmentId,
        attachmentId: flight.attachmentId, text: remark.text))
  }
}
