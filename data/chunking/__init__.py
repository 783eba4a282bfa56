"""Long documents in pieces: small chunks to search, windows around them to read, all with offsets into the source."""

from reflective_rag.data.chunking.blocks import Block, markdown_blocks, plain_blocks
from reflective_rag.data.chunking.chunks import Chunk, ChunkSizes, chunked
from reflective_rag.data.chunking.sizes import size

__all__ = ["Block", "Chunk", "ChunkSizes", "chunked", "markdown_blocks", "plain_blocks", "size"]
