"""Language models: from a GGUF file to a folder that MNN loads, with numpy alone."""
