"""What changes the weights: Adam as in the paper, AdamW, SGD, or Muon with Adam for what is no hidden matrix.

The state is saved by parameter name, in safetensors: no pickle, and readable by whoever wants to look.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Muon, Optimizer

from glassformer.config import TrainConfig
from glassformer.errors import CheckpointError
from glassformer.training.distributed import sharded_like
from glassformer.training.schedule import peak_rate, relative_rate

Named = dict[str, nn.Parameter]


class Optimizers:
    """One or two optimizers that step together at rates of one schedule."""

    def __init__(self, model: nn.Module, config: TrainConfig, total_steps: int, d_model: int) -> None:
        self.config = config
        self.total_steps = total_steps
        self.names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
        rate = peak_rate(config, d_model)
        self.parts: list[tuple[Optimizer, float]] = []  # with the peak rate of each
        named = dict(model.named_parameters())
        if config.optimizer == "muon":
            hidden = {
                name: parameter for name, parameter in named.items() if is_hidden_matrix(name, parameter)
            }
            muon = Muon(
                hidden.values(), lr=config.muon_learning_rate, weight_decay=config.weight_decay, momentum=0.95
            )
            self.parts.append((muon, config.muon_learning_rate))
            named = {name: parameter for name, parameter in named.items() if name not in hidden}
        self.parts.append((_first_order(named, config, rate), rate))

    def step(self, step: int) -> float:
        """Change the weights by the gradients they hold; the rate that was used for matrices of the rest."""
        share = relative_rate(self.config, step, self.total_steps)
        for optimizer, peak in self.parts:
            for group in optimizer.param_groups:
                group["lr"] = peak * share
            optimizer.step()
        return self.parts[-1][1] * share

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for optimizer, _ in self.parts:
            optimizer.zero_grad(set_to_none=True)

    def tensors(self) -> dict[str, Tensor]:
        """The whole state, one entry per parameter and quantity: ``exp_avg.output.weight``."""
        state: dict[str, Tensor] = {}
        for optimizer, _ in self.parts:
            for parameter, values in optimizer.state.items():
                for key, value in values.items():
                    if value is not None:  # SGD without momentum keeps a None
                        state[f"{key}.{self.names[parameter]}"] = torch.as_tensor(value)
        return state

    def load_tensors(self, state: Mapping[str, Tensor]) -> None:
        """Continue with a state that ``tensors`` gave."""
        rest = dict(state)
        for optimizer, _ in self.parts:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    name = self.names[parameter]
                    own = [key for key in rest if key.partition(".")[2] == name]
                    optimizer.state[parameter] = {
                        key.partition(".")[0]: sharded_like(rest.pop(key), parameter) for key in own
                    }
        if rest:
            raise CheckpointError(f"optimizer state for unknown parameters: {', '.join(sorted(rest)[:3])}")


def is_hidden_matrix(name: str, parameter: Tensor) -> bool:
    """Matrices inside blocks; embeddings, output, positions, norms and biases are none."""
    return parameter.dim() == 2 and ".blocks." in name


def _first_order(named: Named, config: TrainConfig, rate: float) -> Optimizer:
    """Adam, AdamW or SGD; decay is for matrices only."""
    groups = [
        {"params": list(_select(named, matrices=True)), "weight_decay": config.weight_decay},
        {"params": list(_select(named, matrices=False)), "weight_decay": 0.0},
    ]
    match config.optimizer:
        case "adam":  # the paper has no decay
            return Adam(named.values(), lr=rate, betas=config.betas, eps=config.epsilon, fused=True)
        case "adamw" | "muon":
            return AdamW(groups, lr=rate, betas=config.betas, eps=config.epsilon, fused=True)
        case "sgd":
            return SGD(groups, lr=rate, momentum=config.momentum)


def _select(named: Named, *, matrices: bool) -> Iterable[nn.Parameter]:
    return (parameter for parameter in named.values() if (parameter.dim() >= 2) == matrices)
