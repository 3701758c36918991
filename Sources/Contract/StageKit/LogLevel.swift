import CStage

/// How much a line in the log matters.
public enum LogLevel: Sendable {
  case debug, info, warning, error

  var rawValue: UInt32 {
    switch self {
    case .debug: SLUICE_LOG_DEBUG
    case .info: SLUICE_LOG_INFO
    case .warning: SLUICE_LOG_WARNING
    case .error: SLUICE_LOG_ERROR
    }
  }
}
