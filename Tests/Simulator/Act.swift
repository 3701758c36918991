import Pipeline

/// What a scripted stage does with a content.
enum Act: Equatable {
  case pass
  case reject, fail
  /// The first time that it meets the content; then it passes.
  case retryOnce(afterMilliseconds: Int64?), crashOnce
  /// Each time.
  case crash, exit, hang, memory, flood, lie
  /// It replaces the content.
  case produce
}

extension Scenario {
  /// The bytes of an item's file.
  func content(of item: Item) -> String { "content-\(item.content)" }

  /// What the first stage of the line says a content is.
  func mediaType(of content: String) -> String {
    chance.choice(["image/png", "image/jpeg", "text/plain", "application/pdf"], content, "type")
  }

  /// What a stage of the line, or at the end, does with a content.
  func act(_ stage: StageDefinition, _ content: String) -> Act {
    let subject = (stage.id, content)
    // One stage at most fails in passing, so that the attempts suffice.
    let passing = chance.choice(pipeline.stages.map(\.id), content, "passing")
    if passing == stage.id && chance.oneIn(4, content, "passes") {
      let after = chance.integer(0...3000, subject.0, subject.1, "after")
      let isCrash = stage.onCrash == .retry && chance.oneIn(2, subject.0, subject.1, "crash")
      return isCrash ? .crashOnce : .retryOnce(afterMilliseconds: after < 1000 ? nil : Int64(after))
    }
    if stage.description.produces && !content.contains("+") && chance.oneIn(2, subject.0, subject.1, "new") {
      return .produce
    }
    if stage.description.role == .line
      && (stage.description.capability == .content || stage.description.turns)
    {
      switch chance.integer(0...59, subject.0, subject.1, "act") {
      case 0...3: return .reject
      case 4: return .fail
      case 5: return .crash
      case 6: return .exit
      case 7: return .hang
      case 8: return .memory
      case 9: return .flood
      case 10: return .lie
      default: return .pass
      }
    }
    if stage.description.role == .end && chance.oneIn(20, subject.0, subject.1, "act") { return .reject }
    return .pass
  }

  /// Whether a stage that turns does what it does to a content in `process` already.
  func actsAtOnce(_ stage: StageDefinition, _ content: String) -> Bool {
    switch act(stage, content) {
    case .pass, .produce, .retryOnce, .crashOnce: false
    default: chance.oneIn(3, stage.id, content, "at once")
    }
  }

  /// Milliseconds that a stage works on a content.
  func duration(_ stage: String, _ content: String) -> Int {
    chance.oneIn(30, stage, content, "slow")
      ? chance.integer(100...800, stage, content, "long") : chance.integer(1...12, stage, content, "short")
  }

  /// Whether a stage at work sees that its result is not wanted any more.
  func notices(_ stage: String) -> Bool { chance.oneIn(2, stage, "notices") }

  /// What a stage at the end tells people of an attachment with this outcome.
  func emissions(_ stage: StageDefinition, _ content: String, _ outcome: Status) -> [Emission] {
    guard stage.description.role == .end, let channel = stage.values.first?.text else { return [] }
    return [Emission(type: "attachment.\(outcome.rawValue)", channel: channel, audience: .everyone)]
  }

  /// Whether the first group's stages promise to say the same of equal content.
  func basis(_ stage: StageDefinition) -> String? {
    chance.oneIn(4, stage.id, "no basis") ? nil : "basis of \(stage.id)"
  }

  func lengthLimit(_ stage: StageDefinition) -> LengthLimit? {
    stage.id == "line-0" && chance.oneIn(3, "length limit") ? LengthLimit(bytes: 9, code: "too-long") : nil
  }
}

extension StageReport {
  /// Adds what a stage says that has passed.
  mutating func pass(
    _ index: Int, _ stage: StageDefinition, _ content: String, _ outcome: Status, _ scenario: Scenario
  ) {
    results.append(StageResult(index: index, verdict: .pass))
    if stage.description.role == .line && stage.description.capability == .content {
      metadata.append(Metadatum(key: "\(stage.id).seen", value: .text(content)))
    }
    if stage.id == "line-0" { mediaType = scenario.mediaType(of: content) }
    emissions += scenario.emissions(stage, content, outcome)
  }
}
