import PDFDocument

/// Whether poppler is prepared as a stage prepares it. It stays so until the process ends.
let popplerIsReady = (try? Poppler()).map { Unmanaged.passRetained($0) } != nil
