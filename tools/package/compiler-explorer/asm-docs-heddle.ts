// What operations of control flow and convergence do, for Compiler Explorer's lib/asm-docs. SPDX-License-Identifier: MIT
import type {AssemblyInstructionInfo} from '../../../types/assembly-docs.interfaces.js';

export function getAsmOpcode(opcode: string | undefined): AssemblyInstructionInfo | undefined {
    if (!opcode) return;
    switch (opcode.toUpperCase().split('.')[0]) {
        case "BSSY":
            return {
                "html": "Registers the lanes that execute it at a convergence barrier (B0 to B15). They wait for each other at the BSYNC of that register; the operand is the place behind which they go on.",
                "tooltip": "Registers the active lanes at a convergence barrier.",
                "url": "https://docs.nvidia.com/cuda/cuda-binary-utilities/index.html#instruction-set-reference"
            };

        case "BSYNC":
            return {
                "html": "Lanes wait until all lanes that are registered at the convergence barrier have come, have left it by BREAK, or have ended. Then they run together again.",
                "tooltip": "Waits for the lanes registered at a convergence barrier.",
                "url": "https://docs.nvidia.com/cuda/cuda-binary-utilities/index.html#instruction-set-reference"
            };

        case "BREAK":
            return {
                "html": "The lanes that execute it are no longer registered at the convergence barrier: nobody waits for them there. It stands on ways that leave a region without passing its BSYNC.",
                "tooltip": "Takes lanes off a convergence barrier.",
                "url": "https://docs.nvidia.com/cuda/cuda-binary-utilities/index.html#instruction-set-reference"
            };

        case "WARPSYNC":
            return {
                "html": "The lanes of the mask wait for each other. Operations of several lanes (shuffles, votes, matrix products) follow it.",
                "tooltip": "Lanes of a mask wait for each other.",
                "url": "https://docs.nvidia.com/cuda/cuda-binary-utilities/index.html#instruction-set-reference"
            };

        case "YIELD":
            return {
                "html": "Another group of lanes of the warp may run first. It lets loops that wait for other lanes make progress.",
                "tooltip": "Lets other lanes of the warp run.",
                "url": "https://docs.nvidia.com/cuda/cuda-binary-utilities/index.html#instruction-set-reference"
            };

        case "BMOV":
            return {
                "html": "Moves a convergence barrier's register to or from a general register, around calls.",
                "tooltip": "Moves a convergence barrier's register.",
                "url": "https://docs.nvidia.com/cuda/cuda-binary-utilities/index.html#instruction-set-reference"
            };

        case "BRA":
            return {
                "html": "Branches. Where the guard differs between lanes the warp parts into two groups, which run one after the other until they wait for each other.",
                "tooltip": "Branches; lanes with another guard go on.",
                "url": "https://docs.nvidia.com/cuda/cuda-binary-utilities/index.html#instruction-set-reference"
            };

        case "EXIT":
            return {
                "html": "The lanes that execute it end. Convergence barriers no longer count them.",
                "tooltip": "Ends the active lanes.",
                "url": "https://docs.nvidia.com/cuda/cuda-binary-utilities/index.html#instruction-set-reference"
            };

        case "BAR":
            return {
                "html": "A barrier of the block: warps wait for each other, unlike BSYNC, at which lanes of one warp do.",
                "tooltip": "Warps of a block wait for each other.",
                "url": "https://docs.nvidia.com/cuda/cuda-binary-utilities/index.html#instruction-set-reference"
            };
    }
}
